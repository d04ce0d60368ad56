//! The part of a file that is searched, as decoded lines, and the result of the search: the lines that the
//! client may have meant by a text.

use std::ops::Range;
use std::slice;

use super::normalize::{Normalized, Steps};
use crate::line::{LineNumber, LineRange};
use crate::rejection::{MatchKind, Normalization};
use crate::scan::Scanned;
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

/// A place at least this many lines away from the named lines is not near them.
const OFF: u64 = 100;

/// The minimum similarity, out of 1000, of a place that differs by a typo or two.
const CLOSE: u64 = 800;

/// The similarity, out of 1000, below which about as much of a place differs from the text as agrees with it.
pub(super) const VAGUE: u64 = 750;

/// Lines that may be meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    pub(crate) lines: LineRange,
    pub(crate) how: MatchKind,
    /// Whether the first and the last line certainly belong to what is meant.
    pub(crate) is_sure: bool,
    /// The similarity to the text, out of 1000.
    pub(super) similarity: u64,
    /// Twice the number of lines that equal their line of the text, plus the number of other lines with its
    /// indentation. It is 0 if [`Self::how`] is not [`MatchKind::Fuzzy`].
    pub(super) exact: usize,
}

impl Hit {
    /// Whether the lines differ from the text by a typo or two at most.
    pub(crate) fn is_close(&self) -> bool {
        self.similarity >= CLOSE
    }

    /// Whether the lines are exactly the text that was sent.
    pub(crate) fn is_text(&self) -> bool {
        self.how == MatchKind::Lines(Normalization::Exact)
    }
}

/// The result of a search.
#[derive(Debug)]
pub(crate) enum Intended {
    One(Hit),
    /// Places that are equally good, the closest to the named lines first.
    Several(Vec<Hit>),
    /// The best place, though it is hardly like the text.
    Vague(Hit),
    Nothing,
}

impl Intended {
    /// Chooses among places. One is the answer if it is the named lines, if it overlaps them and no other is
    /// near (a wrong line number may as well mean a near place), or if it is the only one. Otherwise the
    /// answer is all. Returns `None` without places.
    pub(super) fn of(mut hits: Vec<Hit>, named: Option<LineRange>) -> Option<Self> {
        if let Some(named) = named {
            hits.sort_by_key(|hit| {
                (hit.lines != named, hit.lines.distance(named), !hit.lines.overlaps(named))
            });
        }
        let first = hits.first()?.clone();
        let is_met = named.is_some_and(|named| {
            let is_near = |hit: &Hit| hit.lines.distance(named) < OFF;
            first.lines == named || first.lines.overlaps(named) && !hits.iter().skip(1).any(is_near)
        });
        Some(if is_met || hits.len() == 1 { Self::One(first) } else { Self::Several(hits) })
    }

    /// Returns the places, the best one first.
    pub(crate) fn hits(&self) -> &[Hit] {
        match self {
            Self::One(hit) | Self::Vague(hit) => slice::from_ref(hit),
            Self::Several(hits) => hits,
            Self::Nothing => &[],
        }
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
