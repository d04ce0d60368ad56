//! Computes in one pass over a file's bytes: its digest, lines and line ends, and whether it decodes.
//! Sans-IO: the scanner reads nothing. The caller feeds it chunks of any size, and any chunking gives the
//! same [`Scan`].
//!
//! A scan holds no text. It has the places of the lines ([`crate::lines::LineIndex`]), from which text is
//! read when it is needed. Its memory does not grow with the file: at most some 100 KB.
//!
//! A file and its scan as one value, which answers questions about the file's lines.

use std::ops::Range;

use crate::digest::{Digest, Hasher, digest_of};
use crate::encoding::{CodeUnit, Encoding, Validator, sniff_bom};
use crate::line::{LineNumber, LineRange};
use crate::line_ending::{CR, Census, Convention, LF, unit_value, width};
use crate::lines::{Cursor, LineIndex, Mark, ScannedLine};
use crate::source::Source;

/// The result of one pass over a file. Offsets are in bytes from 0, the first byte of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Scan {
    /// The SHA-256 of all bytes, the byte order mark included.
    pub digest: Digest,
    /// The number of bytes, the byte order mark included.
    pub size: u64,
    /// The encoding in force: that of the byte order mark, unless there is a label of a non-Unicode encoding;
    /// otherwise that of the label; without a label, UTF-8.
    pub encoding: Encoding,
    /// Whether the file begins with the byte order mark of `encoding`.
    pub bom: bool,
    /// The places of the lines.
    pub lines: LineIndex,
    /// The offset of the first NUL byte, in an encoding whose code unit is a byte. Such a file counts as
    /// binary.
    pub nul: Option<u64>,
    /// The offset of the first bytes that do not decode; `None` if all do. Edits ([`crate::resolve`]) require
    /// `None`.
    pub undecodable: Option<u64>,
}

/// Takes a file's bytes in order, in chunks of any size, and builds a [`Scan`].
#[derive(Debug)]
pub struct Scanner {
    label: Option<Encoding>,
    hasher: Option<Hasher>,
    /// The first bytes, until there are enough of them to recognise a byte order mark.
    head: Vec<u8>,
    body: Option<Body>,
}

/// The state of a scan whose encoding is known.
#[derive(Debug)]
struct Body {
    encoding: Encoding,
    bom: bool,
    validator: Validator,
    nul: Option<u64>,
    /// The offset of the next byte.
    offset: u64,
    counter: Counter,
}

const LONGEST_BOM: usize = 4;

impl Scanner {
    /// Makes a scanner for a file whose encoding is known or assumed to be `label`. [`Scan::encoding`] says
    /// when a byte order mark takes precedence.
    #[must_use]
    pub fn new(label: Option<Encoding>) -> Self {
        Self { label, hasher: Some(Hasher::default()), head: Vec::new(), body: None }
    }

    /// Makes a scanner that does not hash, for a caller who has the digest or computes it elsewhere. End it
    /// with [`Scanner::finish_with`]; [`Scanner::finish`] would give the digest of no bytes.
    #[must_use]
    pub fn without_digest(label: Option<Encoding>) -> Self {
        Self { label, hasher: None, head: Vec::new(), body: None }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(chunk);
        }
        if let Some(body) = &mut self.body {
            body.feed(chunk);
            return;
        }
        self.head.extend_from_slice(chunk);
        if self.head.len() >= LONGEST_BOM {
            self.begin();
        }
    }

    /// Tells whether the bytes so far have a NUL byte. Then the file is binary, and the rest need not be fed.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.nul.is_some())
    }

    /// Returns the scan of all bytes that were fed. Without any bytes, it is the scan of an empty file: no
    /// lines, and UTF-8 unless there is a label.
    #[must_use]
    pub fn finish(mut self) -> Scan {
        let digest = self.hasher.take().unwrap_or_default().digest();
        self.finish_with(digest)
    }

    /// Returns the scan of all bytes that were fed, with the `digest` that the caller has computed from them.
    #[must_use]
    pub fn finish_with(mut self, digest: Digest) -> Scan {
        self.begin().finish(digest)
    }

    fn begin(&mut self) -> &mut Body {
        let head = std::mem::take(&mut self.head);
        let label = self.label;
        self.body.get_or_insert_with(|| {
            let marked = sniff_bom(&head).filter(|_| label.is_none_or(Encoding::is_unicode));
            let encoding = marked.or(label).unwrap_or(Encoding::Utf8);
            let start = if marked.is_some() { encoding.bom().len() } else { 0 };
            let mut body = Body {
                encoding,
                bom: marked.is_some(),
                validator: Validator::new(encoding),
                nul: None,
                offset: start as u64,
                counter: Counter::new(encoding.unit(), start as u64),
            };
            body.feed(head.get(start..).unwrap_or_default());
            body
        })
    }
}

impl Body {
    fn feed(&mut self, chunk: &[u8]) {
        self.validator.feed(chunk);
        if self.nul.is_none() && self.encoding.unit() == CodeUnit::Byte {
            self.nul = memchr::memchr(0, chunk).map(|at| self.offset + at as u64);
        }
        self.counter.feed(chunk);
        self.offset += chunk.len() as u64;
    }

    fn finish(&mut self, digest: Digest) -> Scan {
        let start = self.counter.start;
        let validator = std::mem::replace(&mut self.validator, Validator::new(self.encoding));
        Scan {
            digest,
            size: self.offset,
            encoding: self.encoding,
            bom: self.bom,
            nul: self.nul,
            undecodable: validator.finish().map(|offset| start + offset),
            lines: self.counter.finish(),
        }
    }
}

/// The initial distance between marks, in bytes. It is short because a call can name thousands of lines, and
/// each lookup reads the bytes between two marks.
const FIRST_STRIDE: u64 = 1024;
/// The number of marks at which every second one is dropped, so that memory does not grow with the file.
const MAX_MARKS: usize = 4096;

/// Counts line ends, and sets marks.
#[derive(Debug)]
struct Counter {
    unit: CodeUnit,
    start: u64,
    /// The offset of the next unit to count.
    offset: u64,
    /// The first bytes of a unit that the end of a chunk has cut.
    partial: Vec<u8>,
    /// The last unit counted.
    last: Option<u32>,
    lf: u64,
    crlf: u64,
    cr: u64,
    stride: u64,
    marks: Vec<Mark>,
}

impl Counter {
    fn new(unit: CodeUnit, start: u64) -> Self {
        Self {
            unit,
            start,
            offset: start,
            partial: Vec::new(),
            last: None,
            lf: 0,
            crlf: 0,
            cr: 0,
            stride: FIRST_STRIDE,
            marks: vec![Mark { offset: start, lf: 0, cr: 0 }],
        }
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        let width = width(self.unit);
        if !self.partial.is_empty() {
            let (rest, after) = chunk.split_at((width - self.partial.len()).min(chunk.len()));
            self.partial.extend_from_slice(rest);
            chunk = after;
            if self.partial.len() < width {
                return;
            }
            let unit = std::mem::take(&mut self.partial);
            self.count(&unit);
        }
        let (whole, partial) = chunk.split_at(chunk.len() - chunk.len() % width);
        self.partial.extend_from_slice(partial);
        let mut rest = whole;
        while !rest.is_empty() {
            let to_mark =
                usize::try_from(self.stride - (self.offset - self.start) % self.stride).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at(to_mark.min(rest.len()));
            self.count(piece);
            rest = after;
        }
    }

    /// Counts whole units that do not go beyond the next mark.
    fn count(&mut self, piece: &[u8]) {
        self.count_line_ends(piece);
        self.offset += piece.len() as u64;
        if (self.offset - self.start).is_multiple_of(self.stride) {
            self.marks.push(Mark { offset: self.offset, lf: self.lf, cr: self.cr });
            if self.marks.len() >= MAX_MARKS {
                self.stride *= 2;
                let (start, stride) = (self.start, self.stride);
                self.marks.retain(|mark| (mark.offset - start).is_multiple_of(stride));
            }
        }
    }

    fn count_bytes(&mut self, piece: &[u8]) {
        let lf = memchr::memchr_iter(b'\n', piece).count() as u64;
        let cr = memchr::memchr_iter(b'\r', piece).count() as u64;
        if cr > 0 {
            let before = |at: &usize| at.checked_sub(1).and_then(|at| piece.get(at)) == Some(&b'\r');
            self.crlf += memchr::memchr_iter(b'\n', piece).filter(before).count() as u64;
        }
        if self.last == Some(CR) && piece.first() == Some(&b'\n') {
            self.crlf += 1;
        }
        self.lf += lf;
        self.cr += cr;
        self.last = piece.last().map(|&byte| u32::from(byte)).or(self.last);
    }

    /// Counts LF and CR in loops that the compiler turns into SIMD. A piece of wide units is searched unit by
    /// unit for CRLF only if it has a CR or follows one.
    fn count_line_ends(&mut self, piece: &[u8]) {
        let (lf, cr, last) = match self.unit {
            CodeUnit::Byte => return self.count_bytes(piece),
            CodeUnit::Two { big_endian: false } => count_units(piece, u16::from_le_bytes),
            CodeUnit::Two { big_endian: true } => count_units(piece, u16::from_be_bytes),
            CodeUnit::Four { big_endian: false } => count_units(piece, u32::from_le_bytes),
            CodeUnit::Four { big_endian: true } => count_units(piece, u32::from_be_bytes),
        };
        if cr > 0 || self.last == Some(CR) {
            for unit in piece.chunks_exact(width(self.unit)) {
                self.count_unit(unit_value(self.unit, unit));
            }
        } else {
            self.lf += lf;
            self.last = last.or(self.last);
        }
    }

    fn count_unit(&mut self, unit: u32) {
        match unit {
            LF => {
                self.lf += 1;
                self.crlf += u64::from(self.last == Some(CR));
            }
            CR => self.cr += 1,
            _ => {}
        }
        self.last = Some(unit);
    }

    fn finish(&mut self) -> LineIndex {
        let end = self.offset + self.partial.len() as u64;
        let classic_mac = self.lf == 0 && self.cr > 0;
        let (convention, terminators, last) =
            if classic_mac { (Convention::Cr, self.cr, CR) } else { (Convention::Lf, self.lf, LF) };
        let census = if classic_mac {
            Census { cr: self.cr, ..Census::default() }
        } else {
            Census { lf: self.lf - self.crlf, crlf: self.crlf, cr: 0 }
        };
        let unterminated = end > self.start && (self.last != Some(last) || !self.partial.is_empty());
        LineIndex::new(
            self.unit,
            convention,
            self.start..end,
            terminators,
            unterminated,
            census,
            std::mem::take(&mut self.marks),
        )
    }
}

/// Counts the units in `bytes` that are LF and those that are CR. Also returns the last unit.
fn count_units<T: Into<u32> + Copy, const WIDTH: usize>(
    bytes: &[u8],
    unit: impl Fn([u8; WIDTH]) -> T,
) -> (u64, u64, Option<u32>) {
    let (units, _) = bytes.as_chunks::<WIDTH>();
    let count = |value: u32| units.iter().filter(|bytes| unit(**bytes).into() == value).count() as u64;
    (count(LF), count(CR), units.last().map(|bytes| unit(*bytes).into()))
}

/// Bytes, and the scan of the same bytes. These are two references, so the value is copied and passed by
/// value.
///
/// Offsets are in bytes from 0, the first byte of the file. Nothing checks that the two belong together: with
/// the scan of another file, or of an earlier state of this one, results mean nothing. The methods fail only
/// if the source does.
#[derive(Debug)]
pub struct Scanned<'a, S: ?Sized> {
    /// The bytes.
    pub source: &'a S,
    /// The result of one pass over them.
    pub scan: &'a Scan,
}

// `derive` would require `S: Clone`.
impl<S: ?Sized> Clone for Scanned<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for Scanned<'_, S> {}

impl<'a, S: ?Sized> Scanned<'a, S> {
    /// Pairs `source` with the scan of its bytes.
    #[must_use]
    pub fn new(source: &'a S, scan: &'a Scan) -> Self {
        Self { source, scan }
    }
}

impl<'a, S: Source + ?Sized> Scanned<'a, S> {
    /// Computes the digest of the bytes at the offsets of `range`. For the whole file, reads nothing, because
    /// the scan has the digest.
    pub fn digest_of(self, range: Range<u64>) -> Result<Digest, S::Error> {
        if range == (0..self.scan.size) { Ok(self.scan.digest) } else { digest_of(self.source, range) }
    }

    /// Returns the offset at which a line begins: for the first line, the offset after the byte order mark;
    /// for a line after the last one, the end of the file.
    pub fn offset_of(self, line: LineNumber) -> Result<u64, S::Error> {
        self.cursor().offset_of(line)
    }

    /// Returns the offsets of the bytes of some lines, terminators included. Lines that do not exist have no
    /// bytes.
    pub fn bytes_of(self, lines: LineRange) -> Result<Range<u64>, S::Error> {
        let start = self.offset_of(lines.start())?;
        let end = if lines.is_empty() { start } else { self.offset_of(LineNumber::from_index(lines.end()))? };
        Ok(start..end)
    }

    /// Returns the number of the line that holds the byte at `offset`, and the offset at which it begins. At
    /// the end of the file and beyond: the last line if it lacks its terminator, else the line that would
    /// come next.
    pub fn line_at(self, offset: u64) -> Result<(LineNumber, u64), S::Error> {
        self.cursor().line_at(offset)
    }

    /// Returns a cursor that finds the lines of many offsets, or the offsets of many lines. For lookups in
    /// ascending order, it reads the bytes between them once; for an offset in a long line, it reads some
    /// bytes before the offset again.
    #[must_use]
    pub fn cursor(self) -> Cursor<'a, S> {
        self.scan.lines.cursor(self.source)
    }

    /// Calls `each` with the lines of `bytes`, in order, until `each` returns false. `bytes` begin with the
    /// line `first`, and end at the end of a line or of the file. A line's text is cut after `longest` bytes,
    /// rounded up to whole code units.
    pub fn for_each_line(
        self,
        first: LineNumber,
        bytes: Range<u64>,
        longest: usize,
        each: impl FnMut(ScannedLine<'_>) -> bool,
    ) -> Result<(), S::Error> {
        self.scan.lines.for_each(self.source, first, bytes, longest, each)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::Label;

    const NAMES: [&str; 8] =
        ["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "latin1", "shift_jis", "iso-2022-jp"];

    /// Asserts that the first byte of the text has a mark, and each multiple of one distance from there.
    fn assert_evenly_marked(counter: &Counter) {
        let distance = counter.marks.get(1).map_or(FIRST_STRIDE, |mark| mark.offset - counter.start);
        let wanted = (counter.start..=counter.offset).step_by(usize::try_from(distance).unwrap());
        assert!(counter.marks.iter().map(|mark| mark.offset).eq(wanted), "{distance}");
    }

    #[test]
    fn marks_stand_evenly_from_the_first_byte_of_the_text_on() {
        let unit = CodeUnit::Two { big_endian: false };
        for (unit, start, chunk) in [(CodeUnit::Byte, 0, 700), (CodeUnit::Byte, 3, 701), (unit, 2, 1_001)] {
            let mut counter = Counter::new(unit, start);
            (0..9).for_each(|_| counter.feed(&vec![b'a'; chunk]));
            assert!(counter.marks.len() > 6);
            assert_evenly_marked(&counter);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn the_marks_of_a_long_file_are_as_many_as_before_and_farther_apart() {
        let mut counter = Counter::new(CodeUnit::Byte, 3);
        let chunk = vec![b'a'; 1 << 20];
        for _ in 0..9 {
            counter.feed(&chunk);
            assert!(counter.marks.len() < MAX_MARKS);
        }
        assert!(counter.marks.len() >= MAX_MARKS / 2);
        assert_evenly_marked(&counter);
    }

    #[test]
    fn a_nul_makes_a_file_binary_where_a_unit_is_a_byte() {
        for (name, nul) in [("utf-8", Some(10)), ("windows-1252", Some(10)), ("utf-16le", None)] {
            let mut scanner = Scanner::new(Some(Label::parse(name).unwrap().encoding));
            scanner.feed(b"text ");
            assert!(!scanner.is_binary());
            scanner.feed(b"text \0 ");
            scanner.feed(b"text\0");
            assert_eq!(scanner.is_binary(), nul.is_some(), "{name}");
            assert_eq!(scanner.finish().nul, nul, "{name}");
        }
    }

    #[test]
    fn the_first_bytes_that_do_not_decode_are_told_by_their_offset_in_the_file() {
        for (bytes, wanted) in [
            (&b"ab\xFFc\xFF"[..], Some(2)),
            (b"\xEF\xBB\xBFab\xFFc", Some(5)),
            (b"\xFF\xFEab\0\xD8c\0", Some(4)),
        ] {
            let mut scanner = Scanner::new(None);
            scanner.feed(bytes);
            assert_eq!(scanner.finish().undecodable, wanted, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_scan(
            name in prop::sample::select(&NAMES),
            text in prop::collection::vec(prop::sample::select(vec!["a", "\r", "\n", "\r\n", "b c", "\0"]), 0..40),
            has_bom in any::<bool>(),
            odd in 0..4_usize,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let encoding = Label::parse(name).unwrap().encoding;
            let mut bytes = encoding.encode(&text.concat()).unwrap();
            if has_bom && let Ok(mark) = encoding.encode("\u{FEFF}") {
                bytes.splice(..0, mark);
            }
            // A file that is cut here may not decode.
            bytes.truncate(bytes.len().saturating_sub(odd));
            let scan = |chunks: &[&[u8]]| {
                let mut scanner = Scanner::new(Some(encoding));
                for chunk in chunks {
                    scanner.feed(chunk);
                }
                scanner.finish()
            };
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let mut rest = bytes.as_slice();
            let mut chunks = Vec::new();
            for cut in cuts.iter().rev() {
                let (head, chunk) = rest.split_at(*cut);
                chunks.insert(0, chunk);
                rest = head;
            }
            chunks.insert(0, rest);
            prop_assert_eq!(scan(&chunks), scan(&[&bytes]));
        }

        /// Compares with the definition of a line in [`crate::line_ending`].
        #[test]
        fn lines_are_counted_as_they_are_defined(
            name in prop::sample::select(&NAMES),
            text in prop::collection::vec(prop::sample::select(vec!["a", "\r", "\n", "\r\n", "b c"]), 0..9),
            has_bom in any::<bool>(),
        ) {
            let text = text.concat();
            let encoding = Label::parse(name).unwrap().encoding;
            let mark = encoding.encode("\u{FEFF}").ok().filter(|_| has_bom).unwrap_or_default();
            let mut scanner = Scanner::new(Some(encoding));
            scanner.feed(&[mark, encoding.encode(&text).unwrap()].concat());
            let lines = scanner.finish().lines;
            let count = |part: &str| text.matches(part).count() as u64;
            let (lf, crlf, cr) = (count("\n"), count("\r\n"), count("\r"));
            let (end, convention, census) = match (lf, cr) {
                (0, 1..) => ('\r', Convention::Cr, Census { lf: 0, crlf: 0, cr }),
                _ => ('\n', Convention::Lf, Census { lf: lf - crlf, crlf, cr: 0 }),
            };
            prop_assert_eq!(lines.convention(), convention);
            prop_assert_eq!(lines.census(), census);
            prop_assert_eq!(lines.count(), text.split_terminator(end).count() as u64);
            prop_assert_eq!(lines.is_unterminated(), !text.is_empty() && !text.ends_with(end));
        }
    }
}
