//! Looks into the file: excerpts, differences, and the places where something stands.

use super::super::plan::Claim;
use super::super::request::MatchOptions;
use std::borrow::Cow;
use std::ops::Range;

use crate::digest::{Digest, digest_of};
use crate::line::{LineNumber, LineRange};
use crate::matching::{CLOSEST, Keep, Needle, Tier, lines_of, search, trim_blanks};
use crate::nearest::{Nearest, SimilarPlace};
use crate::normalized::{NormalizedMatches, NormalizedSearch};
use crate::rejection::Excerpt;
use crate::scanned::Scanned;
use crate::show::{Budget, excerpt, show};
use crate::source::{Source, read_range};

/// The most lines of actual text of an excerpt.
pub(super) const MAX_LINES: u64 = 20;
/// The most bytes of text in the file for which a cause is looked for; also of text that was sent, in
/// failures that are not explained in full, of which there may be thousands.
pub(super) const LONG: usize = 16 * 1024;
/// The most bytes of text of an excerpt.
const MAX_BYTES: usize = 2000;
/// The number of characters of an excerpt before the one that differs, where a line is too long to be shown
/// whole.
const CHARS_BEFORE: u64 = 40;
/// The most bytes in which similar places are looked for, around the range if there is one.
const MAX_SEARCHED: u64 = 64 * 1024 * 1024;
/// The most bytes of a line that are compared to find similar places.
const LONGEST_LINE: usize = 4096;
/// The most bytes of a line that are compared to find a place once slips are undone.
const LONGEST_CERTAIN: usize = 4 * 1024 * 1024;
/// The most bytes that are hashed to look for lines with a remembered digest.
const MAX_HASHED: u64 = 32 * 1024 * 1024;

/// The place at which lines first differ from wanted ones.
#[derive(Clone, Copy)]
pub(super) struct Difference {
    pub(super) line: LineNumber,
    /// The character in it, from 1.
    character: u64,
}

/// The shape of a wanted text: whole lines, or text that may begin and end inside of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextShape {
    Lines,
    Part,
}

/// The sources of evidence.
pub(super) struct View<'a, S: ?Sized> {
    pub(super) file: Scanned<'a, S>,
    pub(super) options: MatchOptions,
    /// True if this failure is explained in full.
    pub(super) thorough: bool,
    /// The replacements by the patches of the request that did not fail.
    pub(super) made: &'a [&'a Claim],
    /// The new text of each patch.
    pub(super) new_strings: &'a [&'a str],
}

impl<S: Source + ?Sized> View<'_, S> {
    pub(super) fn actual(&self, lines: LineRange) -> Result<Excerpt, S::Error> {
        self.from(lines, lines.start(), 1)
    }

    fn from(&self, of: LineRange, start: LineNumber, from_char: u64) -> Result<Excerpt, S::Error> {
        excerpt(self.file, of, (start, from_char), MAX_LINES, MAX_BYTES)
    }

    /// Makes an excerpt of the lines that has the place at which they differ: from their first line on if
    /// they all fit, else from the line before that place; if that is too much, from the line itself; and if
    /// that is too long, from some characters before.
    pub(super) fn with_difference(
        &self,
        lines: LineRange,
        at: Option<Difference>,
    ) -> Result<Excerpt, S::Error> {
        let head = self.actual(lines)?;
        let Some(Difference { line, character }) = at.filter(|_| head.truncated) else { return Ok(head) };
        if let Some(before) = line.index().checked_sub(1).filter(|before| *before >= lines.start().index()) {
            let excerpt = self.from(lines, LineNumber::from_index(before), 1)?;
            if excerpt.text.lines().count() > 1 {
                return Ok(excerpt);
            }
        }
        let excerpt = self.from(lines, line, 1)?;
        if excerpt.text.ends_with('\n') || !excerpt.truncated {
            return Ok(excerpt);
        }
        self.from(lines, line, character.saturating_sub(CHARS_BEFORE).max(1))
    }

    /// Returns the text of all of the lines; `None` if that is more than `most` bytes, or a line does not
    /// exist.
    pub(super) fn whole(&self, lines: LineRange, most: usize) -> Result<Option<String>, S::Error> {
        let (shown, _) = show(self.file, lines, 1, Budget::bytes(most))?;
        Ok(shown.cut.is_none().then_some(shown.content))
    }

    /// Returns the place at which the lines first differ from `old`; `None` if they do not before one of the
    /// two ends.
    pub(super) fn difference(
        &self,
        lines: LineRange,
        old: &str,
        as_: TextShape,
    ) -> Result<Option<Difference>, S::Error> {
        let bytes = self.file.bytes_of(lines)?;
        // The beginning of a longer line is enough to differ.
        let longest = self.file.scan.encoding.max_bytes(old.len()).saturating_add(64);
        let mut wanted = old.strip_suffix('\n').unwrap_or(old).split('\n').peekable();
        let mut difference = None;
        self.file.for_each_line(lines.start(), bytes, longest, |line| {
            let found = self.decode_head(line.text);
            let old = wanted.next();
            let is_end = [line.number == lines.start(), wanted.peek().is_none()];
            let is_alike = old.is_some_and(|old| {
                old == found
                    || !self.options.strict && trim_blanks(old) == trim_blanks(&found)
                    || as_ == TextShape::Part
                        && match is_end {
                            [true, true] => found.contains(old),
                            [true, false] => found.ends_with(old),
                            [false, true] => found.starts_with(old),
                            [false, false] => false,
                        }
            });
            if !is_alike {
                let both = old.unwrap_or_default().chars().zip(found.chars());
                let same = both.take_while(|(old, found)| old == found).count() as u64;
                difference = Some(Difference { line: line.number, character: same + 1 });
            }
            is_alike
        })?;
        Ok(difference)
    }

    /// Finds the lines where `text` stands, the closest to `near` first.
    pub(super) fn places(
        &self,
        text: &str,
        whole_lines: bool,
        near: Option<LineRange>,
    ) -> Result<Vec<LineRange>, S::Error> {
        let exact = self.search(text, whole_lines, Tier::Exact, near)?;
        if exact.is_empty() && !self.options.strict {
            return self.search(text, whole_lines, Tier::TrailingWhitespace, near);
        }
        Ok(exact)
    }

    pub(super) fn search(
        &self,
        text: &str,
        whole_lines: bool,
        tier: Tier,
        near: Option<LineRange>,
    ) -> Result<Vec<LineRange>, S::Error> {
        let to = match near {
            Some(lines) => self.file.offset_of(lines.start())?,
            None => 0,
        };
        let needle = Needle { text, whole_lines, keep: Keep::Closest(to) };
        let found = search(self.file, &[needle], tier)?;
        let places = found.first().map(|found| found.places.as_slice()).unwrap_or_default();
        let mut lines = lines_of(self.file, places)?;
        lines.dedup();
        if let Some(near) = near {
            lines.sort_by_key(|lines| lines.distance(near));
        }
        Ok(lines)
    }

    /// Returns the digest of some lines.
    pub(super) fn digest(&self, lines: LineRange) -> Result<Digest, S::Error> {
        self.file.digest_of(self.file.bytes_of(lines)?)
    }

    /// Looks for the places that the text stands at once slips are undone.
    pub(super) fn normalized(
        &self,
        old: &str,
        near: Option<LineRange>,
    ) -> Result<NormalizedMatches, S::Error> {
        let mut search = NormalizedSearch::new(old);
        if search.is_idle() {
            return Ok(NormalizedMatches::default());
        }
        // A line that has all of the text, where lines are broken elsewhere, has no more bytes, unless they
        // are blanks, or characters are spelled out at length.
        let longest = self
            .file
            .scan
            .encoding
            .max_bytes(old.len().saturating_mul(8))
            .clamp(LONGEST_LINE, LONGEST_CERTAIN);
        let (first, bytes) = self.around(near)?;
        self.file.for_each_line(first, bytes, longest, |line| {
            let text = line.is_whole().then(|| self.file.scan.encoding.decode(line.text).ok()).flatten();
            search.feed(line.number, text.as_deref());
            true
        })?;
        Ok(search.finish())
    }

    /// Returns the first line and the bytes of the part of the file that is searched.
    fn around(&self, near: Option<LineRange>) -> Result<(LineNumber, Range<u64>), S::Error> {
        let from = match near {
            Some(range) => self.file.offset_of(range.start())?.saturating_sub(MAX_SEARCHED / 2),
            None => 0,
        };
        let text = self.file.scan.lines.bytes();
        let (first, start) = self.file.line_at(from.max(text.start))?;
        let (_, end) = self.file.line_at(start.saturating_add(MAX_SEARCHED).min(text.end))?;
        Ok((first, start..if start.saturating_add(MAX_SEARCHED) >= text.end { text.end } else { end }))
    }

    pub(super) fn nearest(&self, old: &str, near: Option<LineRange>) -> Result<Vec<SimilarPlace>, S::Error> {
        let (first, bytes) = self.around(near)?;
        let mut nearest = Nearest::new(old, near);
        self.file.for_each_line(first, bytes, LONGEST_LINE, |line| {
            nearest.feed(line.number, &self.decode_head(line.text));
            true
        })?;
        self.with_extents(nearest.finish(), old, near)
    }

    /// Decodes a line whose end may have been cut off.
    fn decode_head<'t>(&self, bytes: &'t [u8]) -> Cow<'t, str> {
        let encoding = self.file.scan.encoding;
        encoding
            .decode(bytes)
            .or_else(|fault| encoding.decode(bytes.get(..fault.offset).unwrap_or_default()))
            .unwrap_or_default()
    }

    /// Finds ranges of as many lines as `lines` that have the wanted digest.
    pub(super) fn with_digest(
        &self,
        lines: LineRange,
        is_wanted: impl Fn(&Digest) -> bool,
    ) -> Result<Vec<LineRange>, S::Error> {
        let all = &self.file.scan.lines;
        let (size, count) = (self.file.scan.size, usize::try_from(lines.count()).unwrap_or(usize::MAX));
        if lines.count().saturating_mul(size) > MAX_HASHED {
            return Ok(Vec::new());
        }
        let bytes = read_range(self.file.source, 0..size)?;
        let mut starts = Vec::new();
        let held = Scanned::new(bytes.as_slice(), self.file.scan);
        held.for_each_line(all.all().start(), all.bytes(), 0, |line| {
            starts.push(line.start);
            true
        })
        .unwrap_or_else(|never| match never {});
        starts.push(all.bytes().end);
        let mut found = Vec::new();
        for (index, (from, to)) in starts.iter().zip(starts.get(count..).unwrap_or_default()).enumerate() {
            let digest = digest_of(bytes.as_slice(), *from..*to).unwrap_or_else(|never| match never {});
            if is_wanted(&digest) {
                found.push(LineRange::new(LineNumber::from_index(index as u64), lines.count()));
            }
        }
        found.sort_by_key(|place| place.distance(lines));
        found.truncate(CLOSEST);
        Ok(found)
    }
}
