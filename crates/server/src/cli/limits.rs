//! Parses the limits that are set on the command line, and lists the limits for the help and the
//! documentation.

use crate::arguments::nearest;
use crate::limits::{Limit, Limits, NONE, Unit};
use crate::render::limits as words;

/// Builds the limits from the defaults and the settings. A limit that is set twice is an error. Errors are
/// messages for the person who configures the client.
pub(crate) fn resolve(settings: &[String], line_bytes: Option<u64>) -> Result<Limits, String> {
    let mut limits = Limits::default();
    let mut already_set: Vec<Limit> = Vec::new();
    if let Some(bytes) = line_bytes {
        limits = limits.with(Limit::Line, bytes);
        already_set.push(Limit::Line);
    }
    for setting in settings.iter().filter(|setting| !setting.trim().is_empty()) {
        let limit = set(&mut limits, setting).map_err(|message| format!("--limit: {message}"))?;
        if already_set.contains(&limit) {
            return Err(format!("--limit: {} is set more than once", limit.name()));
        }
        already_set.push(limit);
    }
    Ok(limits)
}

/// Sets a limit by `NAME=VALUE`. The error is a message for the person who configures the client.
fn set(limits: &mut Limits, text: &str) -> Result<Limit, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("`{text}` is not of the form NAME=VALUE"));
    };
    let (name, value) = (name.trim(), value.trim());
    let Some(limit) = Limit::named(name) else { return Err(unknown(name)) };
    let (min, max) = limit.bounds();
    let parsed = parse(limit, value).ok_or_else(|| {
        format!("`{value}` is no value of {name}, which takes {}", form(limit.unit(), max == NONE))
    })?;
    if parsed < min || parsed > max {
        let (min, max) = (words::value(limit, min), words::value(limit, max));
        return Err(format!("{name} must be from {min} to {max}, not {value}"));
    }
    *limits = limits.clone().with(limit, parsed);
    Ok(limit)
}

/// Parses a limit's value: `none`, or a number, optionally followed by a unit that the limit accepts.
fn parse(limit: Limit, text: &str) -> Option<u64> {
    if text == "none" {
        return Some(NONE);
    }
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '_');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: u64 = number.replace('_', "").parse().ok()?;
    let factor: u64 = match (limit.unit(), unit.trim()) {
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

/// Describes the form of a value in this unit.
fn form(unit: Unit, none: bool) -> String {
    let form = match unit {
        Unit::Count => "a number",
        Unit::Bytes => "a number of bytes, KiB, MiB or GiB, such as 64MiB",
        Unit::Seconds => "a number of s, min or h, such as 90s",
    };
    if none { format!("{form}, or none") } else { form.to_owned() }
}

/// Returns the message for a name that no limit has.
fn unknown(name: &str) -> String {
    let known: Vec<&str> = Limit::ALL.iter().map(|limit| limit.name()).collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no limit `{name}`; did you mean `{near}`?"),
        None => format!("there is no limit `{name}`; there are {}", known.join(", ")),
    }
}

/// Lists the limits for `--help-all`.
#[must_use]
pub fn help() -> String {
    let values = Limits::default();
    let rows = Limit::ALL.iter().map(|limit| {
        let meaning = limit.meaning().replace('`', "");
        format!(
            "  {} [default: {}]\n          {meaning}\n",
            limit.name(),
            words::value(*limit, values.get(*limit))
        )
    });
    let rows: String = rows.collect();
    format!(
        "Limits, for --limit NAME=VALUE:\n{rows}\nSizes may be given in KiB, MiB or GiB, times in s, min or h."
    )
}

/// Lists the limits as the table in `docs/limits.md`, for people.
#[must_use]
pub fn markdown() -> String {
    let values = Limits::default();
    let rows = Limit::ALL.iter().map(|limit| {
        format!(
            "| `{}` | {} | {} |\n",
            limit.name(),
            words::value(*limit, values.get(*limit)),
            limit.meaning()
        )
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
            let result = match set(&mut limits, text) {
                Ok(limit) => format!("{} {}", limit.name(), limits.get(limit)),
                Err(message) => message,
            };
            assert_eq!(result, expected);
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
}
