//! Finds the lines of a file: from the number of a line to its bytes and back. This reads no more than lies
//! between two marks that the scan has left.

use std::ops::Range;
use std::sync::Arc;

use crate::encoding::CodeUnit;
use crate::line::{LineNumber, LineRange};
use crate::line_ending::{CR, Census, Convention, LineEnding, ends_with_unit, find_unit, width};
use crate::source::{CHUNK, Source, for_each_chunk, read_range};

/// A place in the file, with the number of LFs and of CRs before it: which of them end lines is known only at
/// the end of the scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) offset: u64,
    pub(crate) lf: u64,
    pub(crate) cr: u64,
}

/// The lines of a scanned file. Offsets are in bytes from 0, the first byte of the file; the byte order mark
/// stands before the first line and belongs to none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    unit: CodeUnit,
    convention: Convention,
    bytes: Range<u64>,
    terminators: u64,
    unterminated: bool,
    census: Census,
    /// Up to some thousands, which all copies share.
    marks: Arc<[Mark]>,
}

/// One line, as [`Scanned::for_each_line`](crate::scanned::Scanned::for_each_line) hands it out. Offsets and
/// lengths are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ScannedLine<'a> {
    /// Its number.
    pub number: LineNumber,
    /// The offset of its first byte.
    pub start: u64,
    /// The length of its text in bytes, without the terminator; 0 for an empty line.
    pub length: u64,
    /// The bytes of its text, without the terminator; only the first ones where the line is longer than the
    /// caller wanted.
    pub text: &'a [u8],
    /// Its terminator; `None` for a last line without one.
    pub ending: Option<LineEnding>,
    /// The offset after the terminator.
    pub end: u64,
}

impl ScannedLine<'_> {
    /// Tells whether `text` is all of its text.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.text.len() as u64 == self.length
    }
}

impl LineIndex {
    pub(crate) fn new(
        unit: CodeUnit,
        convention: Convention,
        bytes: Range<u64>,
        terminators: u64,
        unterminated: bool,
        census: Census,
        marks: Vec<Mark>,
    ) -> Self {
        Self { unit, convention, bytes, terminators, unterminated, census, marks: marks.into() }
    }

    /// Returns how many lines there are; 0 for an empty file.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.terminators + u64::from(self.unterminated)
    }

    /// Returns the range of all lines; an empty one before line 1 for an empty file.
    #[must_use]
    pub fn all(&self) -> LineRange {
        LineRange::new(LineNumber::FIRST, self.count())
    }

    /// Tells whether the last line lacks its terminator; false for an empty file.
    #[must_use]
    pub fn is_unterminated(&self) -> bool {
        self.unterminated
    }

    /// Tells whether nothing in the file ends a line, so that it has one line or none.
    #[must_use]
    pub(crate) fn have_no_end(&self) -> bool {
        self.count() == u64::from(self.is_unterminated())
    }

    /// Returns the number of lines with each terminator.
    #[must_use]
    pub fn census(&self) -> Census {
        self.census
    }

    /// Returns the character that ends the lines of this file.
    #[must_use]
    pub fn convention(&self) -> Convention {
        self.convention
    }

    /// Returns the offsets of the text: all bytes but the byte order mark.
    #[must_use]
    pub fn bytes(&self) -> Range<u64> {
        self.bytes.clone()
    }

    /// Returns the code unit that ends a line, LF or CR.
    fn terminator(&self) -> u8 {
        match self.convention {
            Convention::Lf => b'\n',
            Convention::Cr => b'\r',
        }
    }

    fn terminators_before(&self, mark: &Mark) -> u64 {
        match self.convention {
            Convention::Lf => mark.lf,
            Convention::Cr => mark.cr,
        }
    }

    /// Returns the last mark for which `before` is true, and the offset of the next one, or of the end.
    fn mark(&self, before: impl Fn(&Mark) -> bool) -> (Mark, u64) {
        let after = self.marks.partition_point(before);
        let first = Mark { offset: self.bytes.start, lf: 0, cr: 0 };
        let mark = after.checked_sub(1).and_then(|at| self.marks.get(at)).copied().unwrap_or(first);
        (mark, self.marks.get(after).map_or(self.bytes.end, |next| next.offset))
    }

    /// Returns offsets between which some lines lie, without reading anything: those of the marks around
    /// them.
    pub(crate) fn bytes_around(&self, lines: LineRange) -> Range<u64> {
        // The line at this index begins after that many terminators.
        let between = |index: u64| match index {
            0 => (self.bytes.start, self.bytes.start),
            _ if index > self.terminators => (self.bytes.end, self.bytes.end),
            _ => {
                let (mark, next) = self.mark(|mark| self.terminators_before(mark) < index);
                (mark.offset, next)
            }
        };
        let start = lines.start().index();
        between(start).0..between(if lines.is_empty() { start } else { lines.end() }).1
    }

    /// Serves [`Scanned::cursor`](crate::scanned::Scanned::cursor).
    pub(crate) fn cursor<'a, S: Source + ?Sized>(&'a self, source: &'a S) -> Cursor<'a, S> {
        Cursor {
            lines: self,
            source,
            offset: self.bytes.start,
            terminators: 0,
            start: Some(self.bytes.start),
            block: Vec::new(),
            block_at: 0,
        }
    }

    /// Counts the terminators in a block, and returns where the last of them ends, too.
    fn terminators_in(&self, block: &[u8]) -> (u64, Option<usize>) {
        let terminator = self.terminator();
        if self.unit == CodeUnit::Byte {
            let last = memchr::memrchr(terminator, block);
            return (memchr::memchr_iter(terminator, block).count() as u64, last.map(|at| at + 1));
        }
        units(self.unit, terminator, block).fold((0, None), |(count, _), end| (count + 1, Some(end)))
    }

    /// Returns where the `wanted`-th terminator of a block, from 1, ends; as an error, how many terminators
    /// there are if there are fewer.
    fn end_of_terminator(&self, wanted: u64, block: &[u8]) -> Result<usize, u64> {
        let mut before = 0;
        for (part, base) in block.chunks(COUNTED).zip((0..).step_by(COUNTED)) {
            let (count, _) = self.terminators_in(part);
            if before + count >= wanted {
                let nth = usize::try_from(wanted - before).unwrap_or(usize::MAX).saturating_sub(1);
                let end = units(self.unit, self.terminator(), part).nth(nth);
                return end.map(|end| base + end).ok_or(before);
            }
            before += count;
        }
        Err(before)
    }

    /// Serves [`Scanned::for_each_line`](crate::scanned::Scanned::for_each_line).
    pub(crate) fn for_each<S: Source + ?Sized>(
        &self,
        source: &S,
        first: LineNumber,
        bytes: Range<u64>,
        longest: usize,
        mut each: impl FnMut(ScannedLine<'_>) -> bool,
    ) -> Result<(), S::Error> {
        let width = width(self.unit);
        let longest = longest.saturating_add(width - 1) / width * width;
        let mut open = OpenLine { start: bytes.start, text: Vec::new(), length: 0, ends_with_cr: false };
        let mut number = first;
        let mut wanted = true;
        let mut line_start = bytes.start;
        // Chunk by chunk, and in each from terminator to terminator: `open` collects the line that is not
        // ended yet.
        let mut position = bytes.start;
        let mut partial: Vec<u8> = Vec::new();
        for_each_chunk(source, bytes.clone(), |_, chunk| {
            let joined;
            let mut rest = chunk;
            if !partial.is_empty() {
                joined = [partial.as_slice(), chunk].concat();
                rest = joined.as_slice();
            }
            let (mut rest, cut) = rest.split_at(rest.len() - rest.len() % width);
            while let Some(at) = find_unit(self.unit, self.terminator(), rest) {
                let (text, after) = rest.split_at(at);
                open.extend(self.unit, text, longest);
                rest = after.get(width..).unwrap_or_default();
                position += (at + width) as u64;
                let (ending, length) = match self.convention {
                    Convention::Cr => (LineEnding::Cr, open.length),
                    Convention::Lf if open.ends_with_cr => (LineEnding::CrLf, open.length - width as u64),
                    Convention::Lf => (LineEnding::Lf, open.length),
                };
                wanted = each(open.line(number, length, Some(ending), position));
                if !wanted {
                    return false;
                }
                number = LineNumber::from_index(number.get());
                line_start = position;
                open.begin(position);
            }
            open.extend(self.unit, rest, longest);
            position += rest.len() as u64;
            partial = cut.to_vec();
            true
        })?;
        if wanted && line_start < bytes.end {
            // A unit that the end of the file has cut does not decode, but it is part of the line.
            open.extend(self.unit, &partial, longest);
            let length = open.length;
            each(open.line(number, length, None, bytes.end));
        }
        Ok(())
    }
}

/// A place in the file that moves forward from line to line, and back at the price of reading more. See
/// [`Scanned::cursor`](crate::scanned::Scanned::cursor). Its methods fail only as the source does.
#[derive(Debug)]
pub struct Cursor<'a, S: ?Sized> {
    lines: &'a LineIndex,
    source: &'a S,
    offset: u64,
    terminators: u64,
    /// The beginning of the line at `offset`, if that has been seen.
    start: Option<u64>,
    /// The bytes that were read last, so that many places close together cost one read, and their offset.
    block: Vec<u8>,
    block_at: u64,
}

/// The fewest bytes that a cursor reads: as many as lie between two marks of a small file.
const SHORTEST_READ: u64 = 1024;

/// Terminators are counted in so many bytes at a time, which is much faster than finding them one by one.
const COUNTED: usize = 1024;

impl<S: Source + ?Sized> Cursor<'_, S> {
    /// Returns the number of the line that holds the byte at `offset`, and the offset at which it begins. At
    /// the end of the file and beyond: the last line if it lacks its terminator, else the line that would
    /// come next.
    pub fn line_at(&mut self, offset: u64) -> Result<(LineNumber, u64), S::Error> {
        let lines = self.lines;
        // An offset inside a code unit stands for that unit.
        let offset = offset - offset.saturating_sub(lines.bytes.start) % width(lines.unit) as u64;
        let (mark, _) = lines.mark(|mark| mark.offset <= offset);
        if mark.offset > self.offset || offset < self.offset {
            self.go_to(&mark);
        }
        let to = offset.min(lines.bytes.end);
        while self.offset < to {
            let (base, block) = self.read(to - self.offset)?;
            let ((count, last), length) = (lines.terminators_in(block), block.len() as u64);
            if length == 0 {
                break;
            }
            self.terminators += count;
            self.start = last.map(|end| base + end as u64).or(self.start);
            self.offset += length;
        }
        let number = LineNumber::from_index(self.terminators);
        // If no line begins between the mark and the offset, the line began before the mark.
        let start = match self.start {
            Some(start) => start,
            None => lines.cursor(self.source).offset_of(number)?,
        };
        (self.offset, self.start) = (to, Some(start));
        Ok((number, start))
    }

    /// Returns the offset at which a line begins: that after the byte order mark for the first one, the end
    /// of the file for a line after the last one.
    pub fn offset_of(&mut self, line: LineNumber) -> Result<u64, S::Error> {
        let (lines, wanted) = (self.lines, line.index());
        if wanted == 0 || wanted > lines.terminators {
            return Ok(if wanted == 0 { lines.bytes.start } else { lines.bytes.end });
        }
        if let Some(start) = self.start.filter(|_| wanted == self.terminators) {
            return Ok(start);
        }
        // The line begins after its predecessor's terminator, which is the `wanted`-th of the file.
        let (mark, next_mark) = lines.mark(|mark| lines.terminators_before(mark) < wanted);
        if wanted <= self.terminators || self.offset < mark.offset {
            self.go_to(&mark);
        }
        // Fewer terminators than were counted are found only in a file that changes while it is read.
        let mut found = None;
        let mut step = SHORTEST_READ;
        while found.is_none() && self.offset < next_mark {
            let left = wanted - self.terminators;
            let (base, block) = self.read(step.min(next_mark - self.offset))?;
            step = (step * 2).min(CHUNK as u64);
            let (end, length) = (lines.end_of_terminator(left, block), block.len() as u64);
            match end {
                Ok(end) => found = Some(base + end as u64),
                Err(_) if length == 0 => break,
                Err(count) => (self.offset, self.terminators) = (base + length, self.terminators + count),
            }
        }
        let start = found.unwrap_or(lines.bytes.end);
        (self.offset, self.terminators, self.start) = (start, wanted, Some(start));
        Ok(start)
    }

    /// Returns the terminator of a line, without reading its text; `None` for a line that has none or does
    /// not exist.
    pub(crate) fn ending_of(&mut self, line: LineNumber) -> Result<Option<LineEnding>, S::Error> {
        let lines = self.lines;
        if line.get() > lines.terminators {
            return Ok(None);
        }
        if lines.convention == Convention::Cr {
            return Ok(Some(LineEnding::Cr));
        }
        let end = self.offset_of(LineNumber::from_index(line.get()))?;
        let units = 2 * width(lines.unit) as u64;
        let bytes = read_range(self.source, end.saturating_sub(units).max(lines.bytes.start)..end)?;
        let before = bytes.len().saturating_sub(width(lines.unit));
        let has_cr = ends_with_unit(lines.unit, CR, bytes.get(..before).unwrap_or_default());
        Ok(Some(if has_cr { LineEnding::CrLf } else { LineEnding::Lf }))
    }

    fn go_to(&mut self, mark: &Mark) {
        self.offset = mark.offset;
        self.terminators = self.lines.terminators_before(mark);
        self.start = (mark.offset == self.lines.bytes.start).then_some(mark.offset);
    }

    /// Reads whole code units from `self.offset` on, at most `most` bytes, and returns their offset as well.
    /// Returns none at the end of the file, and for a code unit that the end cuts.
    fn read(&mut self, most: u64) -> Result<(u64, &[u8]), S::Error> {
        let (from, width) = (self.offset, width(self.lines.unit));
        let is_at_hand = |at: u64, length: usize| at <= from && from + width as u64 <= at + length as u64;
        if !is_at_hand(self.block_at, self.block.len()) {
            let rest = self.lines.bytes.end - from;
            let length = most.max(SHORTEST_READ).min(rest);
            self.block.resize(usize::try_from(length).unwrap_or(CHUNK).min(CHUNK), 0);
            let mut got = 0;
            while let Some(part) = self.block.get_mut(got..).filter(|part| !part.is_empty()) {
                match self.source.read_at(from + got as u64, part)? {
                    0 => break,
                    more => got += more,
                }
            }
            self.block.truncate(got);
            self.block_at = from;
        }
        let block = usize::try_from(from - self.block_at).ok().and_then(|skipped| self.block.get(skipped..));
        let block = block.unwrap_or_default();
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(block.len());
        Ok((from, block.get(..length - length % width).unwrap_or_default()))
    }
}

/// Iterates over the places in a block at which the units of `value` (LF or CR) end.
fn units(unit: CodeUnit, value: u8, block: &[u8]) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = block.get(from..)?;
        from += find_unit(unit, value, rest)? + width(unit);
        Some(from)
    })
}

/// The line that [`LineIndex::for_each`] is collecting.
struct OpenLine {
    start: u64,
    text: Vec<u8>,
    length: u64,
    ends_with_cr: bool,
}

impl OpenLine {
    fn begin(&mut self, start: u64) {
        self.start = start;
        self.text.clear();
        self.length = 0;
        self.ends_with_cr = false;
    }

    fn extend(&mut self, unit: CodeUnit, bytes: &[u8], longest: usize) {
        if bytes.is_empty() {
            return;
        }
        let room = longest.saturating_sub(self.text.len()).min(bytes.len());
        self.text.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.length += bytes.len() as u64;
        self.ends_with_cr = ends_with_unit(unit, CR, bytes);
    }

    fn line(&self, number: LineNumber, length: u64, ending: Option<LineEnding>, end: u64) -> ScannedLine<'_> {
        let kept = usize::try_from(length).unwrap_or(usize::MAX).min(self.text.len());
        ScannedLine {
            number,
            start: self.start,
            length,
            text: self.text.get(..kept).unwrap_or_default(),
            ending,
            end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;
    use crate::scanned::Scanned;
    use crate::source::Window;

    /// A source of `size` bytes, all alike but for a line end at `at`.
    struct OneLineEnd {
        size: u64,
        at: u64,
    }

    impl Source for OneLineEnd {
        type Error = std::convert::Infallible;

        fn size(&self) -> u64 {
            self.size
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
            let length = usize::try_from(self.size - offset).unwrap().min(buffer.len());
            buffer[..length].fill(b'x');
            if let Some(at) =
                self.at.checked_sub(offset).map(|at| usize::try_from(at).unwrap()).filter(|at| *at < length)
            {
                buffer[at] = b'\n';
            }
            Ok(length)
        }
    }

    /// The marks of a file of a terabyte can be this far apart.
    #[test]
    fn a_line_far_behind_its_mark_is_found() {
        let source = OneLineEnd { size: 40 << 20, at: 30 << 20 };
        let census = Census { lf: 1, ..Census::default() };
        let lines =
            LineIndex::new(CodeUnit::Byte, Convention::Lf, 0..source.size, 1, true, census, Vec::new());
        let Ok(start) = lines.cursor(&source).offset_of(LineNumber::from_index(1));
        assert_eq!(start, (30 << 20) + 1);
        let Ok(found) = lines.cursor(&source).line_at(source.size - 1);
        assert_eq!(found, (LineNumber::from_index(1), start));
    }

    #[test]
    fn lines_lie_between_the_marks_around_them() {
        for ending in ["\n", "\r", "\r\n"] {
            let text: String = (0..900).map(|line| "x".repeat(line % 7 * 5) + ending).collect();
            let mut scanner = Scanner::new(None);
            scanner.feed(text.as_bytes());
            let scan = scanner.finish();
            let (lines, file) = (&scan.lines, Scanned::new(text.as_bytes(), &scan));
            assert!(lines.marks.len() > 5);
            for (start, count) in
                (0..920).step_by(3).flat_map(|start| [0, 1, 40, 2_000].map(|count| (start, count)))
            {
                let range = LineRange::new(LineNumber::from_index(start), count);
                let around = lines.bytes_around(range);
                let Ok(bytes) = file.bytes_of(range);
                assert!(
                    around.start <= bytes.start && bytes.end <= around.end,
                    "{start}, {count}: {around:?}"
                );
                assert!(around.end - around.start <= bytes.end - bytes.start + 2_100, "{start}, {count}");
                // What is between them is all that is read.
                let Ok(window) = Window::new(text.as_bytes(), around);
                assert_eq!(Scanned::new(&window, &scan).bytes_of(range), Ok(bytes), "{start}, {count}");
            }
        }
    }
}
