//! Holds the part of a file that is searched, as decoded lines.

use std::ops::Range;

use super::normalize::{Normalized, Steps};
use crate::line::{LineNumber, LineRange};
use crate::rejection::Normalization;
use crate::scanned::Scanned;
use crate::source::Source;

/// The maximum number of bytes of a file that are searched, and of lines, since each line takes memory.
const MOST: u64 = 8 * 1024 * 1024;
const MOST_LINES: u64 = 200_000;

/// Some whole lines of a file.
#[derive(Default)]
pub(crate) struct LineWindow {
    /// The index in the file of the first of these lines.
    first: u64,
    text: String,
    /// The offset in `text` at which each line begins, and then the length of `text`.
    starts: Vec<usize>,
    steps: Steps,
}

impl LineWindow {
    /// Reads the lines around `near`, or the first lines of the file without it. The only errors are those of
    /// the source.
    pub(crate) fn new<S: Source + ?Sized>(
        file: Scanned<'_, S>,
        near: Option<LineRange>,
    ) -> Result<Self, S::Error> {
        let all = file.scan.lines.bytes();
        let line = near.map_or(0, |lines| lines.start().index());
        let near = file.offset_of(LineNumber::from_index(line))?;
        let least = file.offset_of(LineNumber::from_index(line.saturating_sub(MOST_LINES / 2)))?;
        let (mut first, mut start) = file.line_at(near.saturating_sub(MOST / 2).max(least))?;
        if near - start > MOST / 2 {
            // The line at that offset is so long that it begins too far above.
            first = LineNumber::from_index(first.get());
            start = file.offset_of(first)?;
        }
        let end = start.saturating_add(MOST);
        let end = if end >= all.end { all.end } else { file.line_at(end)?.1 };
        let mut window = Self { first: first.index(), starts: vec![0], ..Self::default() };
        let longest = usize::try_from(MOST).unwrap_or(usize::MAX);
        file.for_each_line(first, start..end.max(start), longest, |line| {
            window.text.push_str(&file.scan.encoding.decode(line.text).unwrap_or_default());
            window.starts.push(window.text.len());
            window.starts.len() as u64 <= MOST_LINES
        })?;
        Ok(window)
    }

    /// Returns how many lines there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns a line by its index in the window, without its line end; an empty text if there is no such
    /// line.
    pub(super) fn line(&self, index: usize) -> &str {
        let at = |index: usize| self.starts.get(index).copied();
        let range = at(index).zip(index.checked_add(1).and_then(at));
        range.and_then(|(start, end)| self.text.get(start..end)).unwrap_or_default()
    }

    /// Returns the lines of these indices.
    pub(super) fn lines(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &str> {
        range.map(|index| self.line(index))
    }

    /// Returns the lines of a place, without those that lie outside the window.
    pub(crate) fn text_of(&self, place: LineRange) -> impl DoubleEndedIterator<Item = &str> {
        self.lines(self.indices(place))
    }

    /// Returns all lines of the window, normalized to a step; `None` if the step does not apply to lines.
    pub(super) fn at(&self, step: Normalization) -> Option<&Normalized> {
        self.steps.at(step, || self.lines(0..self.len()))
    }

    /// Returns the line numbers in the file of the lines with these indices.
    pub(super) fn numbers(&self, range: &Range<usize>) -> LineRange {
        LineRange::new(LineNumber::from_index(self.first + range.start as u64), range.len() as u64)
    }

    /// Returns the indices of the lines of a place that are in the window.
    pub(super) fn indices(&self, place: LineRange) -> Range<usize> {
        let at = |index: u64| {
            usize::try_from(index.saturating_sub(self.first)).unwrap_or(usize::MAX).min(self.len())
        };
        at(place.start().index())..at(place.end())
    }

    /// Whether the window has all lines of the file.
    pub(crate) fn has_all_of<S: ?Sized>(&self, file: Scanned<'_, S>) -> bool {
        self.first == 0 && self.len() as u64 == file.scan.lines.count()
    }

    /// Whether the window has all lines of a place.
    pub(crate) fn holds(&self, place: LineRange) -> bool {
        place.start().index() >= self.first && place.end() <= self.first + self.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn of_a_large_file_it_has_whole_lines_around_the_named_ones() {
        let (half, long) = (usize::try_from(MOST / 2).unwrap(), usize::try_from(2 * MOST).unwrap());
        let file =
            format!("{}\nfirst\n{}\nsecond\n{}\n", "x".repeat(long), "y".repeat(half + 1), "z".repeat(long));
        let mut scanner = Scanner::new(None);
        scanner.feed(file.as_bytes());
        let scan = scanner.finish();
        let numbers = |near: Option<u64>| {
            let near = near.map(|line| LineRange::new(LineNumber::from_index(line - 1), 1));
            let Ok(window) = LineWindow::new(Scanned::new(file.as_bytes(), &scan), near);
            let numbers = window.numbers(&(0..window.len()));
            (numbers, numbers.end() == 0 || window.holds(numbers), window.text.len() as u64 <= MOST)
        };
        let range = |start, end| LineRange::inclusive(start, end).unwrap();
        assert_eq!(numbers(Some(2)), (range(2, 4), true, true));
        assert_eq!(numbers(Some(4)), (range(4, 4), true, true));
        assert_eq!(numbers(None).0, range(1, 0));
    }
}
