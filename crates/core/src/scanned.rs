//! A file and its scan as one value, which answers questions about the file's lines.

use std::ops::Range;

use crate::digest::{Digest, digest_of};
use crate::line::{LineNumber, LineRange};
use crate::lines::{Cursor, ScannedLine};
use crate::scan::Scan;
use crate::source::Source;

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
