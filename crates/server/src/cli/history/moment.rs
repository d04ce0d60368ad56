//! Parses moments that a person types.

use std::time::SystemTime;

use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, Timestamp, Zoned};
use mcp_text_editor_store::EditId;

/// A moment: a time, or the time of an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// This time.
    Time(SystemTime),
    /// The moment at which this edit was made.
    Edit(EditId),
}

/// Reads a moment. A time without a zone is in this machine's zone; a time without a day means that time
/// today. The error says what can be typed.
pub(super) fn read(typed: &str) -> Result<Moment, String> {
    read_at(typed, &Zoned::now())
}

/// Reads a moment; `now` is the present.
fn read_at(typed: &str, now: &Zoned) -> Result<Moment, String> {
    let typed = typed.trim();
    if let Some(id) = EditId::parse(typed) {
        return Ok(Moment::Edit(id));
    }
    let time = time(typed, now).ok_or_else(|| {
        format!(
            "`{typed}` is no time: type a day (2026-11-25, today, yesterday), a time (\"2026-11-25 14:00\", 14:00), \
             how long ago (2h, \"3 days\"), or the id of an edit"
        )
    })?;
    Ok(Moment::Time(time.into()))
}

fn time(typed: &str, now: &Zoned) -> Option<Timestamp> {
    let zone = now.time_zone().clone();
    let of_day = |date: Date| date.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    match typed.to_ascii_lowercase().as_str() {
        "now" => return Some(now.timestamp()),
        "today" => return of_day(now.date()),
        "yesterday" => return of_day(now.date().yesterday().ok()?),
        _ => {}
    }
    if let Ok(stamp) = typed.parse::<Timestamp>() {
        return Some(stamp);
    }
    // A day alone would parse as a `DateTime`, too.
    if typed.contains(['T', 't', ' '])
        && let Ok(time) = typed.parse::<DateTime>()
    {
        return time.to_zoned(zone).ok().map(|zoned| zoned.timestamp());
    }
    if let Ok(date) = typed.parse::<Date>() {
        return of_day(date);
    }
    if typed.contains(':')
        && let Ok(time) = typed.parse::<Time>()
    {
        return now.date().to_datetime(time).to_zoned(zone).ok().map(|zoned| zoned.timestamp());
    }
    let span: Span = typed.strip_suffix(" ago").unwrap_or(typed).parse().ok()?;
    now.checked_sub(span.abs()).ok().map(|zoned| zoned.timestamp())
}

/// The minimum number of digits in the prefix of an id.
const LEAST_DIGITS: usize = 4;

/// Whether a word can be the id of an edit, or its first digits.
pub(super) fn looks_like_id(typed: &str) -> bool {
    (LEAST_DIGITS..=12).contains(&typed.len()) && typed.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str) -> String {
        let now: Zoned = "2026-11-25T15:30:00+01:00[+01:00]".parse().unwrap();
        match read_at(typed, &now) {
            Ok(Moment::Time(time)) => Timestamp::try_from(time).unwrap().to_string(),
            Ok(Moment::Edit(id)) => format!("edit {id}"),
            Err(error) => error,
        }
    }

    #[test]
    fn moments_are_read_as_people_type_them() {
        for (typed, read) in [
            ("2026-11-25", "2026-11-24T23:00:00Z"),
            ("2026-11-25 14:00", "2026-11-25T13:00:00Z"),
            ("2026-11-25T14:00:05", "2026-11-25T13:00:05Z"),
            ("2026-11-25T14:00:00Z", "2026-11-25T14:00:00Z"),
            ("2026-11-25T14:00:00-05:00", "2026-11-25T19:00:00Z"),
            ("14:00", "2026-11-25T13:00:00Z"),
            ("now", "2026-11-25T14:30:00Z"),
            ("Today", "2026-11-24T23:00:00Z"),
            ("yesterday", "2026-11-23T23:00:00Z"),
            ("2h", "2026-11-25T12:30:00Z"),
            ("1h30m", "2026-11-25T13:00:00Z"),
            (" 3 days ago ", "2026-11-22T14:30:00Z"),
            ("2 weeks", "2026-11-11T14:30:00Z"),
            ("1 month", "2026-10-25T14:30:00Z"),
            ("0123456789AB", "edit 0123456789ab"),
        ] {
            assert_eq!(check(typed), read, "{typed}");
        }
    }

    #[test]
    fn what_is_no_moment_is_told() {
        for typed in ["", "soon", "2026-13-01", "25:00", "-", "99999999999 years", "2026-11-25 14:00 mars"] {
            assert!(
                check(typed).starts_with(&format!("`{typed}` is no time: ")),
                "{typed}: {}",
                check(typed)
            );
        }
    }
}
