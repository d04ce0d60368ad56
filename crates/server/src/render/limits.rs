//! Words the limits: their values, and the problem of a call that exceeds one.
//!
//! The problem of a call that exceeds a limit has the code `too_large`. It names the limit, its value, the
//! requested amount and the remedy. The exception is a message line that is too long: its call has not been
//! read, so the answer is a JSON-RPC error.

use std::fmt;

use crate::limits::{Exceeded, Limit, Limits, NONE, Unit};
use crate::problem::{Code, Problem};

/// Prints a value of a limit.
#[must_use]
pub(crate) fn value(limit: Limit, value: u64) -> String {
    match limit.unit() {
        _ if value == NONE => "none".to_owned(),
        Unit::Count => value.to_string(),
        Unit::Seconds => format!("{value} s"),
        Unit::Bytes => size(value),
    }
}

/// Prints a number of bytes in the largest unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// Makes the problem of a call that exceeds a limit.
#[must_use]
pub(crate) fn exceeded(limits: &Limits, exceeded: Exceeded) -> Problem {
    too_large(limits, exceeded.limit, asked(exceeded))
}

/// Makes the problem of a call that exceeds this limit. `asked` is a clause, without a full stop, with the
/// amount that the call requested.
#[must_use]
pub(crate) fn too_large(limits: &Limits, limit: Limit, asked: impl fmt::Display) -> Problem {
    let name = limit.name();
    let value = value(limit, limits.get(limit));
    let hint = format!("{}; a person can start this server with a higher --limit {name}=…", advice(limit));
    Problem::new(Code::TooLarge, format!("{asked}, and the limit `{name}` is {value}"), hint)
}

/// Returns a clause with the amount that the call requested.
fn asked(Exceeded { limit, asked }: Exceeded) -> String {
    match limit {
        Limit::Files => format!("the call names {asked} files"),
        Limit::Patches => format!("the call has {asked} patches"),
        Limit::Ranges => format!("the call has {asked} ranges"),
        Limit::Text => format!("the call has {asked} bytes of text"),
        Limit::Values => format!("the arguments hold {asked} values"),
        Limit::Depth => format!("the arguments nest {asked} levels deep"),
        Limit::Occurrences => {
            format!("the patches with replace_all replace {asked} occurrences in this file")
        }
        Limit::Inserted => format!("the call puts {asked} bytes of new text into this file"),
        Limit::Line | Limit::File | Limit::Seconds | Limit::Calls => {
            format!("the call needs {} of {}", value(limit, asked), limit.name())
        }
    }
}

/// Says what a client can do instead.
const fn advice(limit: Limit) -> &'static str {
    match limit {
        Limit::Files => "name fewer files in one call",
        Limit::Patches => "send fewer patches in one call",
        Limit::Ranges => "send fewer ranges in one call",
        Limit::Text => {
            "send less text in one call; a long file is made from a part of it, to which further calls add the rest"
        }
        Limit::Values => "send less in one call",
        Limit::Depth => "send the arguments as the tool's schema has them; none nests deeper than 7",
        Limit::Line => "send a shorter line",
        Limit::File => "edit it with another program",
        Limit::Inserted => "give shorter new text, or fewer places in one call",
        Limit::Occurrences => {
            "make old_string longer, so that it occurs less often, or name the lines by ranges"
        }
        Limit::Seconds => "name fewer or smaller files in one call",
        Limit::Calls => "",
    }
}
