//! Converts line numbers to offsets, and back. A conversion reads no more than the bytes between two marks of
//! the scan.

use std::ops::Range;
use std::sync::Arc;

use crate::encoding::CodeUnit;
use crate::line::{LineNumber, LineRange};
use crate::line_ending::{CR, Census, Convention, LineEnding, ends_with_unit, find_unit, width};
use crate::source::{CHUNK, Source, for_each_chunk, read_range};

/// A place in the file, with the numbers of LFs and of CRs before it. It has both, because only at the end of
/// a scan is it known which of them end lines.
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
    /// The marks, some thousands at most; clones share them. The first mark is at the beginning of the first
    /// line.
    marks: Arc<[Mark]>,
}

/// One line, as [`Scanned::for_each_line`](crate::scan::Scanned::for_each_line) passes it on. Offsets and
/// lengths are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ScannedLine<'a> {
    /// The number of the line.
    pub number: LineNumber,
    /// The offset of its first byte.
    pub start: u64,
    /// The length of its text in bytes, without the terminator; 0 for an empty line.
    pub length: u64,
    /// The bytes of its text, without the terminator; only the first bytes if the line is longer than the
    /// caller's limit.
    pub text: &'a [u8],
    /// Its terminator; `None` for a last line without one.
    pub ending: Option<LineEnding>,
    /// The offset after the terminator.
    pub end: u64,
}

impl ScannedLine<'_> {
    /// Whether `text` is the whole text of the line.
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

    /// Returns the number of lines; 0 for an empty file.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.terminators + u64::from(self.unterminated)
    }

    /// Returns the range of all lines; for an empty file, an empty range before line 1.
    #[must_use]
    pub fn all(&self) -> LineRange {
        LineRange::new(LineNumber::FIRST, self.count())
    }

    /// Tells whether the last line lacks its terminator; false for an empty file.
    #[must_use]
    pub fn is_unterminated(&self) -> bool {
        self.unterminated
    }

    /// Whether the file has no terminator, and therefore at most one line.
    #[must_use]
    pub(crate) fn has_no_terminator(&self) -> bool {
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

    /// Returns the offsets of the text: all bytes except the byte order mark.
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

    /// Returns the last mark for which `before` is true, and the offset of the next mark, or of the file's
    /// end.
    fn mark(&self, before: impl Fn(&Mark) -> bool) -> (Mark, u64) {
        let after = self.marks.partition_point(before);
        let first = Mark { offset: self.bytes.start, lf: 0, cr: 0 };
        let mark = after.checked_sub(1).and_then(|at| self.marks.get(at)).copied().unwrap_or(first);
        (mark, self.marks.get(after).map_or(self.bytes.end, |next| next.offset))
    }

    /// Returns a range of offsets that includes these lines: from the mark before them to the mark after
    /// them. Reads nothing.
    pub(crate) fn bytes_around(&self, lines: LineRange) -> Range<u64> {
        // The line at this index begins after that many terminators.
        let around = |index: u64| self.mark(|mark| self.terminators_before(mark) < index);
        let start = lines.start().index();
        around(start).0.offset..around(if lines.is_empty() { start } else { lines.end() }).1
    }

    /// Implements [`Scanned::cursor`](crate::scan::Scanned::cursor).
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

    /// Counts the terminators in a block. Also returns the end of the last one.
    fn terminators_in(&self, block: &[u8]) -> (u64, Option<usize>) {
        let terminator = self.terminator();
        if self.unit == CodeUnit::Byte {
            let last = memchr::memrchr(terminator, block);
            return (memchr::memchr_iter(terminator, block).count() as u64, last.map(|at| at + 1));
        }
        units(self.unit, terminator, block).fold((0, None), |(count, _), end| (count + 1, Some(end)))
    }

    /// Returns the end of the `wanted`-th terminator of a block, counted from 1. If the block has fewer, the
    /// error is their number.
    fn end_of_terminator(&self, wanted: u64, block: &[u8]) -> Result<usize, u64> {
        let mut before = 0;
        for (part, base) in block.chunks(COUNT_BLOCK).zip((0..).step_by(COUNT_BLOCK)) {
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

    /// Implements [`Scanned::for_each_line`](crate::scan::Scanned::for_each_line).
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
        // `open` collects the line whose terminator has not been read yet. Chunks have whole code units. If
        // the end of the file cuts a code unit, its bytes do not decode, but they belong to the last line.
        for_each_chunk(source, bytes.clone(), |offset, chunk| {
            let mut position = offset;
            let mut rest = chunk;
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
                open.begin(position);
            }
            open.extend(self.unit, rest, longest);
            true
        })?;
        if wanted && open.start < bytes.end {
            each(open.line(number, open.length, None, bytes.end));
        }
        Ok(())
    }
}

/// A place in the file that moves forward from line to line, and back at the price of reading more. See
/// [`Scanned::cursor`](crate::scan::Scanned::cursor). Its methods fail only if the source does.
#[derive(Debug)]
pub struct Cursor<'a, S: ?Sized> {
    lines: &'a LineIndex,
    source: &'a S,
    offset: u64,
    terminators: u64,
    /// The beginning of the line at `offset`, if it has been read.
    start: Option<u64>,
    /// The block that was read last, and its offset. Lookups close together cost one read.
    block: Vec<u8>,
    block_at: u64,
}

/// The minimum bytes that a cursor reads: the distance between two marks of a small file.
const MIN_READ: u64 = 1024;

/// The size in bytes of the blocks in which terminators are counted. Counting them in a block is much faster
/// than finding them one by one.
const COUNT_BLOCK: usize = 1024;

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

    /// Returns the offset at which a line begins: for the first line, the offset after the byte order mark;
    /// for a line after the last one, the end of the file.
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
        // The scan has counted the terminators, so fewer are left only in a file that changes meanwhile.
        let mut start = None;
        let mut step = MIN_READ;
        while start.is_none() && self.offset < next_mark {
            let left = wanted - self.terminators;
            let (base, block) = self.read(step.min(next_mark - self.offset))?;
            step = (step * 2).min(CHUNK as u64);
            let (end, length) = (lines.end_of_terminator(left, block), block.len() as u64);
            match end {
                Ok(end) => start = Some(base + end as u64),
                Err(_) if length == 0 => break,
                Err(count) => (self.offset, self.terminators) = (base + length, self.terminators + count),
            }
        }
        let start = start.unwrap_or(lines.bytes.end);
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

    /// Reads whole code units from `self.offset` on, at most `limit` bytes. Also returns their offset.
    /// Returns no bytes at the end of the file, or if the end cuts the next code unit.
    fn read(&mut self, limit: u64) -> Result<(u64, &[u8]), S::Error> {
        let (from, width) = (self.offset, width(self.lines.unit));
        let is_buffered = |at: u64, length: usize| at <= from && from + width as u64 <= at + length as u64;
        if !is_buffered(self.block_at, self.block.len()) {
            let rest = self.lines.bytes.end - from;
            let length = limit.max(MIN_READ).min(rest);
            self.block.resize(usize::try_from(length).unwrap_or(CHUNK).min(CHUNK), 0);
            let count = self.source.read_at(from, &mut self.block).inspect_err(|_| self.block.clear())?;
            self.block.truncate(count);
            self.block_at = from;
        }
        let block = usize::try_from(from - self.block_at).ok().and_then(|skipped| self.block.get(skipped..));
        let block = block.unwrap_or_default();
        let length = usize::try_from(limit).unwrap_or(usize::MAX).min(block.len());
        Ok((from, block.get(..length - length % width).unwrap_or_default()))
    }
}

/// Iterates over the ends of the code units of `value` (LF or CR) in a block.
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
    use std::cell::Cell;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::encoding::Encoding;
    use crate::scan::Scanned;
    use crate::scan::{Scan, Scanner};
    use crate::source::Window;

    /// A source of `size` equal bytes, except for a line end at `at`. It counts its reads.
    struct OneLineEnd {
        size: u64,
        at: u64,
        reads: Cell<u64>,
    }

    impl Source for OneLineEnd {
        type Error = Infallible;

        fn size(&self) -> u64 {
            self.size
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
            self.reads.set(self.reads.get() + 1);
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
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn a_line_far_behind_its_mark_is_found() {
        let source = OneLineEnd { size: 40 << 20, at: 30 << 20, reads: Cell::new(0) };
        let census = Census { lf: 1, ..Census::default() };
        let lines =
            LineIndex::new(CodeUnit::Byte, Convention::Lf, 0..source.size, 1, true, census, Vec::new());
        let Ok(start) = lines.cursor(&source).offset_of(LineNumber::from_index(1));
        assert_eq!(start, (30 << 20) + 1);
        assert!(source.reads.get() < 200, "{}", source.reads.get());
        let Ok(found) = lines.cursor(&source).line_at(source.size - 1);
        assert_eq!(found, (LineNumber::from_index(1), start));
    }

    /// Bytes that count how many of them are read. A read beyond their end panics.
    struct Counted<'a> {
        bytes: &'a [u8],
        read: Cell<u64>,
    }

    impl<'a> Counted<'a> {
        fn new(bytes: &'a [u8]) -> Self {
            Self { bytes, read: Cell::new(0) }
        }
    }

    impl Source for Counted<'_> {
        type Error = Infallible;

        fn size(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
            assert!(offset + buffer.len() as u64 <= self.size());
            self.read.set(self.read.get() + buffer.len() as u64);
            self.bytes.read_at(offset, buffer)
        }
    }

    fn scan(label: Option<Encoding>, bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(label);
        scanner.feed(bytes);
        scanner.finish()
    }

    /// Keeps every `every`th mark, as in the scan of a larger file; no marks if `every` is 0.
    fn thin_out(lines: &mut LineIndex, every: usize) {
        lines.marks = lines.marks.iter().copied().step_by(every.max(1)).filter(|_| every > 0).collect();
    }

    /// A line as it should be found: its bytes with the terminator, and the length of its text.
    #[derive(Debug)]
    struct Expected {
        bytes: Range<u64>,
        length: u64,
        ending: Option<LineEnding>,
    }

    /// A file, its scan, and the lines that it was made of.
    #[derive(Debug)]
    struct Made {
        bytes: Vec<u8>,
        scan: Scan,
        lines: Vec<Expected>,
    }

    impl Made {
        /// Encodes `text`, behind a byte order mark if `marked`, and adds the first `cut` bytes of one more
        /// code unit.
        fn new(encoding: Encoding, marked: bool, text: &str, cut: usize) -> Self {
            let mut bytes = if marked { encoding.bom().to_vec() } else { Vec::new() };
            let mut lines: Vec<Expected> = Vec::new();
            let last = if text.contains('\r') && !text.contains('\n') { '\r' } else { '\n' };
            for line in text.split_inclusive(last) {
                let ending = [LineEnding::CrLf, LineEnding::Lf, LineEnding::Cr].into_iter();
                let ending = ending.filter(|_| line.ends_with(last)).find(|end| line.ends_with(end.as_str()));
                let content = ending.and_then(|end| line.strip_suffix(end.as_str())).unwrap_or(line);
                let [content, line] = [content, line].map(|text| encoding.encode(text).unwrap());
                let start = bytes.len() as u64;
                bytes.extend(&line);
                lines.push(Expected {
                    bytes: start..bytes.len() as u64,
                    length: content.len() as u64,
                    ending,
                });
            }
            let cut = &encoding.encode("x").unwrap()[..cut.min(width(encoding.unit()) - 1)];
            if !cut.is_empty() {
                if lines.last().is_none_or(|line| line.ending.is_some()) {
                    let end = bytes.len() as u64;
                    lines.push(Expected { bytes: end..end, length: 0, ending: None });
                }
                let last = lines.last_mut().unwrap();
                last.bytes.end += cut.len() as u64;
                last.length += cut.len() as u64;
                bytes.extend(cut);
            }
            Self { scan: scan(Some(encoding), &bytes), bytes, lines }
        }

        fn file(&self) -> Scanned<'_, [u8]> {
            Scanned::new(self.bytes.as_slice(), &self.scan)
        }

        /// Checks the lines with the indices `range`, as `for_each_line` passes them with texts cut after
        /// `longest` bytes. Stops after `most` lines.
        fn check_lines(&self, range: Range<usize>, longest: usize, most: usize) -> Result<(), TestCaseError> {
            let Some(expected) = self.lines.get(range.clone()).filter(|lines| !lines.is_empty()) else {
                return Ok(());
            };
            let bytes = expected[0].bytes.start..expected[expected.len() - 1].bytes.end;
            let kept = longest.next_multiple_of(width(self.scan.encoding.unit())) as u64;
            let mut left = expected.iter().zip(range.start as u64..).take(most);
            let mut result = Ok(());
            let mut check = |line: ScannedLine<'_>| {
                let Some((Expected { bytes, length, ending }, index)) = left.next() else {
                    return Err(TestCaseError::fail(format!("one too many: {line:?}")));
                };
                prop_assert_eq!(line.number, LineNumber::from_index(index));
                prop_assert_eq!((line.start, line.length, line.ending), (bytes.start, *length, *ending));
                prop_assert_eq!(line.end, bytes.end);
                let text = read_range(self.bytes.as_slice(), bytes.start..bytes.start + kept.min(*length));
                prop_assert_eq!(Ok(line.text), text.as_deref());
                prop_assert_eq!(line.is_whole(), kept >= *length);
                Ok(())
            };
            let (first, mut count) = (LineNumber::from_index(range.start as u64), 0);
            let Ok(()) = self.file().for_each_line(first, bytes, longest, |line| {
                result = check(line);
                count += 1;
                result.is_ok() && count < most
            });
            result?;
            prop_assert_eq!(left.count(), 0);
            Ok(())
        }
    }

    fn made() -> impl Strategy<Value = Made> {
        let encoding = prop::sample::select(vec![
            Encoding::Utf8,
            Encoding::Utf16Le,
            Encoding::Utf16Be,
            Encoding::Utf32Le,
            Encoding::Utf32Be,
        ]);
        let endings =
            prop::sample::select(vec![vec!["\n"], vec!["\r\n"], vec!["\r"], vec!["\n", "\r\n", "\r"]]);
        // Some texts have the bytes of terminators in other characters, and some span several marks.
        let text = || prop_oneof![9 => "[ab\u{a0d}\u{d0a}\u{a00}\u{100d}]{0,9}", 1 => Just("x".repeat(2500))];
        let lines = endings.prop_flat_map(move |endings| {
            let line = (text(), prop::sample::select(endings)).prop_map(|(text, ending)| text + ending);
            (prop::collection::vec(line, 0..40), 1..9_usize, text())
                .prop_map(|(lines, times, last)| lines.concat().repeat(times) + &last)
        });
        (encoding, any::<bool>(), lines, 0..4_usize)
            .prop_map(|(encoding, marked, text, cut)| Made::new(encoding, marked, &text, cut))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 48 }))]

        #[test]
        fn a_cursor_finds_the_lines_that_were_written(
            mut made in made(),
            every in 0..5_usize,
            steps in prop::collection::vec((0..3, any::<prop::sample::Index>()), 1..60),
        ) {
            thin_out(&mut made.scan.lines, every);
            let (lines, all) = (&made.lines, made.scan.lines.bytes());
            let count = lines.len() as u64;
            let mut cursor = made.file().cursor();
            for (what, index) in steps {
                let line = index.index(lines.len() + 2);
                let number = LineNumber::from_index(line as u64);
                match what {
                    0 => {
                        let start = lines.get(line).map_or(all.end, |line| line.bytes.start);
                        prop_assert_eq!(cursor.offset_of(number), Ok(start));
                    }
                    1 => prop_assert_eq!(cursor.ending_of(number), Ok(lines.get(line).and_then(|line| line.ending))),
                    _ => {
                        let offset = all.start + index.index(made.bytes.len() + 3) as u64;
                        let at = lines.iter().position(|line| line.ending.is_none() || offset < line.bytes.end);
                        let start = at.map_or(all.end, |at| lines[at].bytes.start);
                        let number = LineNumber::from_index(at.map_or(count, |at| at as u64));
                        prop_assert_eq!(cursor.line_at(offset), Ok((number, start)));
                    }
                }
            }
        }

        #[test]
        fn the_lines_that_were_written_are_handed_out(
            made in made(),
            first in any::<prop::sample::Index>(),
            count in 1..50_usize,
            longest in prop_oneof![0..12_usize, Just(usize::MAX / 8)],
            most in 1..50_usize,
        ) {
            let first = first.index(made.lines.len() + 1);
            made.check_lines(first..made.lines.len().min(first + count), longest, most)?;
        }
    }

    /// A terminator lies across the end of the first chunk.
    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn lines_are_handed_out_over_several_chunks() {
        let text = "\n".to_owned() + &("x".repeat(62) + "\r\n").repeat(5000);
        for encoding in [Encoding::Utf16Le, Encoding::Utf8] {
            let made = Made::new(encoding, false, &text, 1);
            assert!(made.bytes.len() > CHUNK + 1024);
            made.check_lines(0..made.lines.len(), 100, usize::MAX).unwrap();
        }
    }

    /// Lines of some 50 bytes, after the first one of 3000; every `every`th mark is kept.
    fn with_a_long_line(every: usize) -> (Vec<u8>, LineIndex) {
        let text = "y".repeat(3000) + "\n" + &("x".repeat(50) + "\n").repeat(600);
        let mut lines = scan(None, text.as_bytes()).lines;
        thin_out(&mut lines, every);
        (text.into_bytes(), lines)
    }

    #[test]
    fn a_look_reads_no_more_than_lies_between_two_marks() {
        for every in 1..8 {
            let (bytes, lines) = with_a_long_line(every);
            for index in (0..lines.count()).step_by(if cfg!(miri) { 97 } else { 1 }) {
                let line = LineNumber::from_index(index);
                let source = Counted::new(&bytes);
                let Ok(start) = lines.cursor(&source).offset_of(line);
                let around = lines.bytes_around(LineRange::new(line, 0));
                assert!(source.read.get() <= around.end - around.start, "{every}, {line}");
                // Bytes before the mark are read only to find the beginning of the line.
                source.read.set(0);
                let Ok(found) = lines.cursor(&source).line_at(start + 20);
                assert_eq!(found, (line, start));
                assert!(source.read.get() <= 2 * 1024 * every as u64, "{every}, {line}");
            }
            let source = Counted::new(&bytes);
            assert_eq!(lines.cursor(&source).line_at(0), Ok((LineNumber::FIRST, 0)));
            assert_eq!(source.read.get(), 0);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn in_rising_order_little_is_read_twice() {
        for every in 1..8 {
            let (bytes, lines) = with_a_long_line(every);
            let source = Counted::new(&bytes);
            let mut cursor = lines.cursor(&source);
            for index in 0..lines.count() {
                let Ok(_) = cursor.offset_of(LineNumber::from_index(index));
            }
            assert!(source.read.get() <= source.size(), "{every}");
            source.read.set(0);
            let mut cursor = lines.cursor(&source);
            for offset in (0..source.size()).step_by(8) {
                let Ok(found) = cursor.line_at(offset);
                // A repeated lookup of an offset reads nothing.
                let read = source.read.get();
                assert_eq!(cursor.line_at(offset), Ok(found));
                assert_eq!(source.read.get(), read, "{every}, {offset}");
            }
            // A line that spans a mark needs further reads to find its beginning.
            assert!(source.read.get() <= 2 * source.size(), "{every}");
        }
    }

    #[test]
    fn a_look_into_a_file_that_has_shrunk_ends() {
        for every in [0, 1, 4] {
            let (bytes, lines) = with_a_long_line(every);
            for length in [0, 1000, 5000, 10_000] {
                let rest = &bytes[..length];
                for index in (0..lines.count()).step_by(50) {
                    let Ok(start) = lines.cursor(rest).offset_of(LineNumber::from_index(index));
                    let Ok((_, start_of_line)) = lines.cursor(rest).line_at(index * 50);
                    assert!(start.max(start_of_line) <= lines.bytes().end);
                }
            }
        }
    }

    #[test]
    fn a_line_that_is_gone_since_the_scan_begins_at_the_end() {
        let scan = scan(None, b"a\nb\nc\nd");
        let third = |now: &str| {
            let Ok(start) = Scanned::new(now.as_bytes(), &scan).offset_of(LineNumber::from_index(2));
            start
        };
        assert_eq!(["a\nb\nc\nd", "a\nb c d", "a"].map(third), [4, 7, 7]);
    }

    #[test]
    fn lines_lie_between_the_marks_around_them() {
        for ending in ["\n", "\r", "\r\n"] {
            let text: String = (0..900).map(|line| "x".repeat(line % 7 * 5) + ending).collect();
            let scan = scan(None, text.as_bytes());
            let (lines, file) = (&scan.lines, Scanned::new(text.as_bytes(), &scan));
            assert!(lines.marks.len() > 5);
            for (start, count) in (0..920)
                .step_by(if cfg!(miri) { 131 } else { 3 })
                .flat_map(|start| [0, 1, 40, 2_000].map(|count| (start, count)))
            {
                let range = LineRange::new(LineNumber::from_index(start), count);
                let around = lines.bytes_around(range);
                let Ok(bytes) = file.bytes_of(range);
                assert!(
                    around.start <= bytes.start && bytes.end <= around.end,
                    "{start}, {count}: {around:?}"
                );
                assert!(around.end - around.start <= bytes.end - bytes.start + 2_100, "{start}, {count}");
                // Only the bytes between the marks are read.
                let Ok(window) = Window::new(text.as_bytes(), around);
                assert_eq!(Scanned::new(&window, &scan).bytes_of(range), Ok(bytes), "{start}, {count}");
            }
        }
    }

    #[test]
    fn a_cursor_that_could_not_read_reads_again() {
        /// Fails on every second read, and overwrites the buffer.
        struct Failing<'a>(&'a [u8], Cell<bool>);
        impl Source for Failing<'_> {
            type Error = ();
            fn size(&self) -> u64 {
                self.0.size()
            }
            fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ()> {
                self.1.set(!self.1.get());
                buffer.fill(b'\n');
                if self.1.get() {
                    Err(())
                } else {
                    self.0.read_at(offset, buffer).map_err(|never| match never {})
                }
            }
        }
        let (bytes, lines) = with_a_long_line(4);
        let source = Failing(&bytes, Cell::new(false));
        let mut cursor = lines.cursor(&source);
        for index in (0..lines.count()).step_by(if cfg!(miri) { 97 } else { 1 }) {
            let line = LineNumber::from_index(index);
            let found = (0..9).find_map(|_| cursor.offset_of(line).ok());
            let Ok(expected) = lines.cursor(bytes.as_slice()).offset_of(line);
            assert_eq!(found, Some(expected), "{line}");
        }
    }
}
