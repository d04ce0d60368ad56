//! The bounds on work that a person may set: one table ([`Limit`]), what holds for the process ([`Limits`]), and what is
//! said of a call that asks for more ([`Limits::problem`]).
//!
//! One rule: what exceeds a limit of this table is `too_large`, whatever it is, and the error names the limit, its value,
//! what was asked and what to do. A line of input that is too long is the exception: nobody has read whose call it is, so
//! it is a JSON-RPC error. Bounds that nobody need set are constants where they hold; `docs/limits.md` lists both.

use std::fmt;

use crate::problem::{Code, Problem};
use crate::wire::json_weight::Weight;

/// In what a limit is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// A limit that does not hold.
pub const NONE: u64 = u64::MAX;

macro_rules! limits {
    ($($variant:ident $name:literal $unit:ident $default:expr, $least:literal, $most:expr, $meaning:literal, $advice:literal;)*) => {
        /// A bound on work.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Limit { $(#[doc = $meaning] $variant,)* }

        impl Limit {
            /// Every limit, in the order in which they are documented.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name by which it is set, and by which errors call it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it counts.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// In what.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// What a client does instead.
            const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)* }
            }

            /// The least and the most that it may be set to.
            const fn bounds(self) -> (u64, u64) {
                match self { $(Self::$variant => ($least, $most),)* }
            }
        }

        impl Default for Limits {
            /// What holds unless it is set.
            fn default() -> Self {
                Self([$($default,)*])
            }
        }
    };
}

limits! {
    Files "files" Count 1_000, 1, 1_000_000,
        "files that a call names",
        "name fewer files in one call";
    Patches "patches" Count 10_000, 1, 10_000_000,
        "patches in a call, those of all its files together",
        "send fewer patches in one call";
    Ranges "ranges" Count 10_000, 1, 10_000_000,
        "ranges in a call, those of all its files and patches together",
        "send fewer ranges in one call";
    Text "text-bytes" Bytes 32 << 20, 1, NONE,
        "bytes of `contents`, `old_string` and `new_string` in a call, all together",
        "send less text in one call; a long file is made from a part of it, to which further calls add the rest";
    Values "values" Count 250_000, 100, 100_000_000,
        "list items and object fields in the arguments of a call, those in spelled JSON too",
        "send less in one call";
    Depth "depth" Count 64, 8, 100,
        "how deep lists and objects in the arguments of a call may nest",
        "send the arguments as the tool's schema has them; none nests deeper than 7";
    Line "line-bytes" Bytes 64 << 20, 1, NONE,
        "bytes of a line of input, and so of a whole message; also set by `--max-line-bytes`",
        "send a shorter line";
    File "file-bytes" Bytes NONE, 1, NONE,
        "bytes of a file that is edited, before and after",
        "edit it with another program";
    Inserted "inserted-bytes" Bytes 256 << 20, 1, NONE,
        "bytes of new text that a call puts into one file, each place counted",
        "give shorter new text, or fewer places in one call";
    Occurrences "occurrences" Count 100_000, 1, 10_000_000,
        "occurrences in one file that a call's patches with `replace_all` replace",
        "make old_string longer, so that it occurs less often, or name the lines by ranges";
    Seconds "call-seconds" Seconds 120, 1, NONE,
        "seconds that a call works, from its turn until it commits",
        "name fewer or smaller files in one call";
    Calls "calls" Count 16, 1, 512,
        "calls that work at the same time; no error: others wait for their turn",
        "";
}

/// The limits of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits([u64; Limit::ALL.len()]);

impl Limits {
    /// The value of a limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        self.0.get(limit as usize).copied().unwrap_or(NONE)
    }

    /// The value of a limit, as a size in memory.
    #[must_use]
    pub fn size(&self, limit: Limit) -> usize {
        usize::try_from(self.get(limit)).unwrap_or(usize::MAX)
    }

    /// The same limits but for one.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u64) -> Self {
        if let Some(slot) = self.0.get_mut(limit as usize) {
            *slot = value;
        }
        self
    }

    /// Sets a limit by `NAME=VALUE`; the error is a message for the person who configures the client.
    pub fn set(&mut self, text: &str) -> Result<Limit, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(format!("`{text}` is not of the form NAME=VALUE"));
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(limit) = Limit::named(name) else { return Err(unknown(name)) };
        let (least, most) = limit.bounds();
        let parsed = limit.parse(value).ok_or_else(|| {
            format!("`{value}` is no value of {name}, which takes {}", limit.unit().form(most == NONE))
        })?;
        if parsed < least || parsed > most {
            let (least, most) = (limit.show(least), limit.show(most));
            return Err(format!("{name} must be from {least} to {most}, not {value}"));
        }
        *self = self.clone().with(limit, parsed);
        Ok(limit)
    }

    /// What a text to be parsed exceeds, if anything; `outside` is how deep what is looked at nests in it.
    #[must_use]
    pub fn exceeded_by(&self, weight: Weight, outside: u64) -> Option<Exceeded> {
        let depth = weight.depth.saturating_sub(outside);
        let asked = [(Limit::Values, weight.values), (Limit::Depth, depth)];
        let found = asked.into_iter().find(|(limit, asked)| *asked > self.get(*limit));
        found.map(|(limit, asked)| Exceeded { limit, asked })
    }

    /// What is said of a call that exceeds a limit.
    #[must_use]
    pub fn exceeded(&self, exceeded: Exceeded) -> Problem {
        self.problem(exceeded.limit, exceeded.asked())
    }

    /// The same, where more can be said of what was asked: a clause without a full stop.
    #[must_use]
    pub fn problem(&self, limit: Limit, asked: impl fmt::Display) -> Problem {
        let name = limit.name();
        let value = limit.show(self.get(limit));
        let hint =
            format!("{}; a person can start this server with a higher --limit {name}=…", limit.advice());
        Problem::new(Code::TooLarge, format!("{asked}, and the limit `{name}` is {value}"), hint)
    }
}

/// By how much a call exceeds a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// The limit.
    pub limit: Limit,
    /// What was asked for.
    pub asked: u64,
}

impl Exceeded {
    /// What is asked for, as a clause.
    fn asked(self) -> String {
        let Self { limit, asked } = self;
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
                format!("the call needs {} of {}", limit.show(asked), limit.name())
            }
        }
    }
}

impl Limit {
    /// The limit of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|limit| limit.name() == name)
    }

    /// A value of it, in words.
    #[must_use]
    pub fn show(self, value: u64) -> String {
        match self.unit() {
            _ if value == NONE => "none".to_owned(),
            Unit::Count => value.to_string(),
            Unit::Seconds => format!("{value} s"),
            Unit::Bytes => size(value),
        }
    }

    fn parse(self, text: &str) -> Option<u64> {
        if text == "none" {
            return Some(NONE);
        }
        let digits = text.find(|character: char| !character.is_ascii_digit() && character != '_');
        let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
        let number: u64 = number.replace('_', "").parse().ok()?;
        let factor: u64 = match (self.unit(), unit.trim()) {
            (_, "") | (Unit::Bytes, "B") | (Unit::Seconds, "s") => 1,
            (Unit::Bytes, "kB") => 1_000,
            (Unit::Bytes, "MB") => 1_000_000,
            (Unit::Bytes, "GB") => 1_000_000_000,
            (Unit::Bytes, "KiB") => 1 << 10,
            (Unit::Bytes, "MiB") => 1 << 20,
            (Unit::Bytes, "GiB") => 1 << 30,
            (Unit::Seconds, "min") => 60,
            (Unit::Seconds, "h") => 3_600,
            _ => return None,
        };
        number.checked_mul(factor)
    }
}

impl Unit {
    fn form(self, none: bool) -> String {
        let form = match self {
            Self::Count => "a number",
            Self::Bytes => "a number of bytes, KiB, MiB or GiB, such as 64MiB",
            Self::Seconds => "a number of s, min or h, such as 90s",
        };
        if none { format!("{form}, or none") } else { form.to_owned() }
    }
}

/// A number of bytes, in the largest unit of which it is a whole number.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

fn unknown(name: &str) -> String {
    let near = Limit::ALL
        .iter()
        .map(|limit| (strsim::jaro_winkler(limit.name(), name), limit.name()))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let known: Vec<&str> = Limit::ALL.iter().map(|limit| limit.name()).collect();
    match near {
        Some((_, near)) => format!("there is no limit `{name}`; did you mean `{near}`?"),
        None => format!("there is no limit `{name}`; there are {}", known.join(", ")),
    }
}

/// The limits for `--help`.
#[must_use]
pub fn help() -> String {
    let values = Limits::default();
    let rows = Limit::ALL.iter().map(|limit| {
        let meaning = limit.meaning().replace('`', "");
        format!("  {} [default: {}]\n          {meaning}\n", limit.name(), limit.show(values.get(*limit)))
    });
    let rows: String = rows.collect();
    format!(
        "Limits, for --limit NAME=VALUE:\n{rows}\nSizes may be given in KiB, MiB or GiB, times in s, min or h."
    )
}

/// The limits as a table for people: what `docs/limits.md` holds.
#[must_use]
pub fn markdown() -> String {
    let values = Limits::default();
    let rows = Limit::ALL.iter().map(|limit| {
        format!("| `{}` | {} | {} |\n", limit.name(), limit.show(values.get(*limit)), limit.meaning())
    });
    let rows: String = rows.collect();
    format!("| Name | Default | What is counted |\n|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let check = |text: &str, expected: &str| {
            let mut limits = Limits::default();
            let said = match limits.set(text) {
                Ok(limit) => format!("{} {}", limit.name(), limits.get(limit)),
                Err(message) => message,
            };
            assert_eq!(said, expected);
        };
        check("files=50", "files 50");
        check("line-bytes=64MiB", "line-bytes 67108864");
        check("line-bytes=1_000 kB", "line-bytes 1000000");
        check("call-seconds=2min", "call-seconds 120");
        check("call-seconds=90s", "call-seconds 90");
        check(" file-bytes = none ", "file-bytes 18446744073709551615");
        check("files", "`files` is not of the form NAME=VALUE");
        check("files=", "`` is no value of files, which takes a number");
        check("files=64MiB", "`64MiB` is no value of files, which takes a number");
        check("files=0", "files must be from 1 to 1000000, not 0");
        check("files=none", "files must be from 1 to 1000000, not none");
        check("depth=200", "depth must be from 8 to 100, not 200");
        check(
            "text-bytes=99999999999999999999",
            "`99999999999999999999` is no value of text-bytes, which takes a number of bytes, KiB, MiB or GiB, such as \
             64MiB, or none",
        );
        check("call-second=1", "there is no limit `call-second`; did you mean `call-seconds`?");
        check(
            "zzz=1",
            "there is no limit `zzz`; there are files, patches, ranges, text-bytes, values, depth, line-bytes, file-bytes, \
             inserted-bytes, occurrences, call-seconds, calls",
        );
    }

    #[test]
    fn defaults_are_within_bounds() {
        for limit in Limit::ALL {
            let (least, most) = limit.bounds();
            assert!((least..=most).contains(&Limits::default().get(*limit)), "{limit:?}");
        }
    }
}
