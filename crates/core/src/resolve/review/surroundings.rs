//! Reads the lines in and around a place, which a review compares with new text: [`Surroundings`].

use std::borrow::Cow;
use std::ops::Range;

use crate::line::{LineNumber, LineRange};
use crate::scan::Scanned;
use crate::source::{Source, read_range};

/// The lines in and around a place, without their terminators.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::resolve) struct Surroundings {
    /// The number of the first line of the place.
    pub(super) first: u64,
    /// At most eight lines above the place, in file order.
    pub(super) above: Vec<String>,
    /// The lines of the place, of the first and last only the part inside it. `None` if the lines are too
    /// many or too long, or do not decode.
    pub(super) own: Option<Vec<String>>,
    /// At most eight lines below the place, in file order.
    pub(super) below: Vec<String>,
    /// The text before the place in its first line.
    pub(super) before: String,
    /// The text after the place in its last line.
    pub(super) after: String,
    /// Whether the place begins at the beginning of a line.
    pub(super) starts_line: bool,
    /// Whether the place ends at the end of a line, and this line has a terminator.
    pub(super) ends_line: bool,
    /// Whether other text, or blanks, follow the place in its last line.
    pub(super) is_cut: bool,
}

/// The maximum number of lines that are compared above, and below.
const AROUND: u64 = 8;
/// The maximum number of lines of a place that is compared, and of bytes of the place and the lines around
/// it.
const MOST: (u64, u64) = (2_000, 256 * 1024);
/// The maximum length in bytes of a line that is compared.
const LONGEST: usize = 4_096;

impl Surroundings {
    /// Reads the lines in and around a place: the bytes from `start` to `end`, which are on `lines`. If the
    /// place is too large, the result has no lines. The only errors are those of the source.
    pub(in crate::resolve) fn of<S: Source + ?Sized>(
        file: Scanned<'_, S>,
        lines: LineRange,
        (start, end): (u64, u64),
    ) -> Result<Self, S::Error> {
        let from = lines.start().index().saturating_sub(AROUND);
        let last = lines.end().saturating_add(AROUND).min(file.scan.lines.count());
        let mut place = Self { first: lines.start().get(), starts_line: true, ..Self::default() };
        let mut cursor = file.cursor();
        let begin = cursor.offset_of(LineNumber::from_index(from))?;
        let stop = cursor.offset_of(LineNumber::from_index(last))?;
        if lines.count() > MOST.0 || stop - begin > MOST.1 {
            return Ok(place);
        }
        let (mut own, mut is_known) = (Vec::new(), true);
        let (mut head, mut tail) = (start..start, end..end);
        file.for_each_line(LineNumber::from_index(from), begin..stop, LONGEST, |line| {
            let text = if line.is_whole() { file.scan.encoding.decode(line.text).ok() } else { None };
            let (is_text, text) = (text.is_some(), text.map(Cow::into_owned).unwrap_or_default());
            if line.number < lines.start() {
                place.above.push(text);
            } else if line.number.get() > lines.end() {
                place.below.push(text);
            } else {
                if own.is_empty() {
                    head = line.start..start;
                }
                let text_end = line.start + line.length;
                tail = end.min(text_end)..text_end;
                place.ends_line = line.ending.is_some() && end >= text_end;
                is_known &= is_text;
                own.push(text);
            }
            true
        })?;
        (place.starts_line, place.is_cut) = (head.is_empty(), !tail.is_empty());
        let text = |range: Range<u64>| -> Result<String, S::Error> {
            if range.is_empty() || range.end - range.start > LONGEST as u64 {
                return Ok(String::new());
            }
            let bytes = read_range(file.source, range)?;
            Ok(file.scan.encoding.decode(&bytes).map(Cow::into_owned).unwrap_or_default())
        };
        (place.before, place.after) = (text(head)?, text(tail)?);
        place.own = is_known.then(|| within(own, &place.before, &place.after)).flatten();
        Ok(place)
    }

    /// Returns the text before the place in its first line if it has only whitespace; otherwise an empty
    /// text.
    pub(in crate::resolve) fn indentation(&self) -> &str {
        if self.before.trim().is_empty() { &self.before } else { "" }
    }

    /// Returns the first and last of `lines`, as far as they belong to the place only in part.
    pub(in crate::resolve) fn cut_lines(&self, lines: LineRange) -> Vec<LineNumber> {
        let first = (!self.starts_line).then(|| lines.start());
        let last = LineNumber::new(lines.end()).filter(|last| self.is_cut && Some(*last) != first);
        first.into_iter().chain(last).collect()
    }

    pub(super) fn own(&self) -> &[String] {
        self.own.as_deref().unwrap_or_default()
    }

    /// Iterates over all lines around and in the place, in file order.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.above.iter().chain(self.own()).chain(&self.below).map(String::as_str)
    }
}

/// Returns lines without the text `before` in the first and `after` in the last. Returns `None` if these are
/// not there, as when the place begins or ends within a byte sequence of two characters.
fn within(mut lines: Vec<String>, before: &str, after: &str) -> Option<Vec<String>> {
    if let Some(last) = lines.last_mut() {
        *last = last.strip_suffix(after)?.to_owned();
    }
    if let Some(first) = lines.first_mut() {
        *first = first.strip_prefix(before)?.to_owned();
    }
    Some(lines)
}
