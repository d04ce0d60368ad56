//! Line numbers and ranges of lines. What ends a line is defined in [`crate::line_ending`]. `numbered`
//! recognises line numbers that reads, searches and other programs show before lines.

use std::fmt;
use std::num::NonZeroU64;

/// The number of a line in its file, from 1. No other type of this crate counts lines from 1, except
/// requests, which have the numbers as clients send them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNumber(NonZeroU64);

impl LineNumber {
    /// The first line.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Makes the line number `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// Makes the number of the line that has `index` lines above it. Saturates at `u64::MAX`.
    #[must_use]
    pub fn from_index(index: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(index))
    }

    /// Returns the number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns how many lines stand above this one: the index of the line, from 0.
    #[must_use]
    pub fn index(self) -> u64 {
        self.0.get() - 1
    }
}

impl fmt::Display for LineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for LineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Consecutive lines. An empty range stands before the line `start`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    start: LineNumber,
    count: u64,
}

impl LineRange {
    /// Makes the range of `count` lines from `start` on; `count` may be 0.
    #[must_use]
    pub fn new(start: LineNumber, count: u64) -> Self {
        Self { start, count }
    }

    /// Makes the range of the lines `start` to `end`, both included and counted from 1; empty if `end` is
    /// `start - 1`. `None` if `start` is 0 or `end` is less than `start - 1`.
    #[must_use]
    pub fn inclusive(start: u64, end: u64) -> Option<Self> {
        let first = LineNumber::new(start)?;
        let count = end.checked_sub(first.index())?;
        Some(Self::new(first, count))
    }

    /// Makes the range of lines to change, as a client names them; `None` if the range is empty, or if a file
    /// of `total` lines does not have all of its lines. Without an end, the range reaches to the last line.
    #[must_use]
    pub fn existing(start: i64, end: Option<i64>, total: u64) -> Option<Self> {
        let last = end.map_or(Some(total), |end| u64::try_from(end).ok())?;
        Self::inclusive(u64::try_from(start).ok()?, last).filter(|lines| !lines.is_empty() && last <= total)
    }

    /// Makes the range of lines to read, as a client names them, as far as a file of `total` lines has them.
    /// A start below 0 counts from the end of the file. Without an end, the range reaches to the last line.
    /// The error, for an end before the start, has the first line and the end.
    pub fn clamped(start: i64, end: Option<i64>, total: u64) -> Result<Self, (LineNumber, i64)> {
        let first = LineNumber::from_index(match u64::try_from(start) {
            Ok(start) => start.saturating_sub(1),
            // -50 means the first of the last fifty lines.
            Err(_) => total.saturating_sub(start.unsigned_abs()),
        });
        if let Some(end) = reversed(i64::try_from(first.get()).unwrap_or(i64::MAX), end) {
            return Err((first, end));
        }
        let last = end.and_then(|end| u64::try_from(end).ok()).unwrap_or(total).min(total);
        Ok(Self::new(first, last.saturating_sub(first.index())))
    }

    /// Returns the first line; for an empty range, the line before which it stands.
    #[must_use]
    pub fn start(self) -> LineNumber {
        self.start
    }

    /// Returns the number of the last line, from 1; `start - 1`, which may be 0, if the range is empty.
    #[must_use]
    pub fn end(self) -> u64 {
        self.start.index().saturating_add(self.count)
    }

    /// Returns how many lines the range holds.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }

    /// Tells whether the range holds no line.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Makes the range from a first to a last line, both included; `None` if the last comes before the first.
    #[must_use]
    pub fn between(first: LineNumber, last: LineNumber) -> Option<Self> {
        Self::inclusive(first.get(), last.get()).filter(|lines| !lines.is_empty())
    }

    /// Tells whether a line is in both ranges.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start.index() < other.end() && other.start.index() < self.end()
    }

    /// Tells whether all lines of `other` are in this range.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }

    /// Returns the range with `more` lines on either side.
    #[must_use]
    pub(crate) fn widened(self, more: u64) -> Self {
        let start = self.start.index().saturating_sub(more);
        Self::new(LineNumber::from_index(start), self.end().saturating_add(more) - start)
    }

    /// Returns how many lines lie between the two ranges; 0 if they touch or overlap.
    #[must_use]
    pub fn distance(self, other: Self) -> u64 {
        let gap = |a: Self, b: Self| b.start.index().saturating_sub(a.end());
        gap(self, other).max(gap(other, self))
    }
}

/// Returns the end of a range, as a client gives it, if it is before the start. Callers report this first,
/// whatever else is wrong with the range.
#[must_use]
pub fn reversed(start: i64, end: Option<i64>) -> Option<i64> {
    end.filter(|end| *end < start)
}

/// The first and the last line with a hyphen between them, as in `3-5`; `3-2` for an empty range before line
/// 3.
impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end())
    }
}

impl fmt::Debug for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A line that begins with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberedLine<'a> {
    pub(crate) number: u64,
    pub(crate) before: NumberColumn<'a>,
    /// The text after the number and its sign. The number of an empty line may have no sign.
    pub(crate) text: &'a str,
}

/// The form of a line number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberColumn<'a> {
    /// `12⇥text`, or with an arrow.
    Tab,
    /// `12|text`, `12: text`, `12#a1:text` (a hash of the line), perhaps behind an `L`.
    Sign,
    /// `PATH:12:text`.
    Path(&'a str),
    /// `12` and nothing else.
    Alone,
}

/// Reads the number at the beginning of a line; `None` if there is none.
pub(crate) fn numbered(line: &str) -> Option<NumberedLine<'_>> {
    const MAX_DIGITS: usize = 7;
    let is_digit = |c: char| c.is_ascii_digit();
    let start = line.trim_start_matches(' ');
    let start = start.strip_prefix('L').unwrap_or(start);
    let (path, start) = if start.starts_with(is_digit) {
        (None, start)
    } else {
        let mut colons = line.match_indices(':').filter_map(|(at, _)| line.split_at_checked(at));
        let (path, rest) =
            colons.find(|(_, rest)| rest.get(1..).is_some_and(|rest| rest.starts_with(is_digit)))?;
        (Some(path), rest.get(1..)?)
    };
    let rest = start.trim_start_matches(is_digit);
    let number =
        start.get(..start.len() - rest.len()).filter(|digits| digits.len() <= MAX_DIGITS)?.parse().ok()?;
    let behind_tab = rest.strip_prefix(['\t', '→']);
    let sign = rest.trim_start_matches(' ');
    let hash =
        sign.strip_prefix('#').map(|hash| hash.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    let behind_sign = hash.unwrap_or(sign).strip_prefix(['|', ':', '│']);
    let behind_sign = behind_sign.map(|text| text.strip_prefix(' ').unwrap_or(text));
    let (before, text) = match (behind_tab, behind_sign) {
        (Some(text), _) => (NumberColumn::Tab, text),
        (None, Some(text)) => (NumberColumn::Sign, text),
        _ => (NumberColumn::Alone, Some("").filter(|_| sign.is_empty())?),
    };
    Some(NumberedLine { number, before: path.map_or(before, NumberColumn::Path), text })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_is_widened_up_to_the_first_line() {
        let widened = |start, end, more| LineRange::inclusive(start, end).map(|range| range.widened(more));
        assert_eq!(widened(5, 6, 2), LineRange::inclusive(3, 8));
        assert_eq!(widened(2, 2, 3), LineRange::inclusive(1, 5));
    }

    proptest! {
        /// A range of existing lines is read as it is named. Whatever is read exists, or is an empty range at
        /// the end.
        #[test]
        fn a_read_has_the_lines_that_exist(start in -9..9_i64, end in prop::option::of(-9..9_i64), total in 0..6_u64) {
            let (read, existing) = (LineRange::clamped(start, end, total), LineRange::existing(start, end, total));
            if let Some(existing) = existing {
                prop_assert_eq!(read, Ok(existing));
                prop_assert_eq!(reversed(start, end), None);
                prop_assert!(start >= 1 && existing.end() <= total && !existing.is_empty());
            }
            if let Ok(read) = read {
                prop_assert!(read.is_empty() || read.end() <= total);
            } else {
                prop_assert!(end.is_some() && existing.is_none());
            }
        }
    }

    #[test]
    fn numbers_are_read_as_programs_show_them() {
        use NumberColumn::{Alone, Path, Sign, Tab};
        for (line, expected) in [
            ("12\ta\tb", Some((12, Tab, "a\tb"))),
            ("   12→a", Some((12, Tab, "a"))),
            ("12|a", Some((12, Sign, "a"))),
            ("12 | a", Some((12, Sign, "a"))),
            ("12:  a", Some((12, Sign, " a"))),
            ("L12: a", Some((12, Sign, "a"))),
            ("12#a1:a", Some((12, Sign, "a"))),
            ("12", Some((12, Alone, ""))),
            ("a b/c.rs:12:a", Some((12, Path("a b/c.rs"), "a"))),
            ("C:\\a.rs:12:a", Some((12, Path("C:\\a.rs"), "a"))),
            ("a.rs:12", Some((12, Path("a.rs"), ""))),
            ("12 a", None),
            ("a: 12: b", None),
            ("a:12,b:12:c", None),
            ("12345678\ta", None),
            ("", None),
        ] {
            let read = numbered(line).map(|line| (line.number, line.before, line.text));
            assert_eq!(read, expected, "{line:?}");
        }
    }
}
