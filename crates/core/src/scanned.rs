//! A file and what one pass over it has found, as one value: what every question about a file is asked of.

use std::ops::Range;

use crate::digest::{Digest, digest_of};
use crate::line::{LineNumber, LineRange};
use crate::lines::{Cursor, Line};
use crate::scan::Scan;
use crate::source::Source;

/// Bytes, and the scan of these very bytes. Two references, so it is copied and passed by value.
///
/// Nothing checks that the two belong together: with the scan of another file, or of an earlier state of this one, every
/// answer is about places that mean nothing.
#[derive(Debug)]
pub struct Scanned<'a, S: ?Sized> {
    /// The bytes.
    pub source: &'a S,
    /// What one pass over them has found.
    pub scan: &'a Scan,
}

// Derived, these would ask `S: Clone`.
impl<S: ?Sized> Clone for Scanned<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for Scanned<'_, S> {}

impl<'a, S: ?Sized> Scanned<'a, S> {
    /// Puts together `source` and the scan of its bytes.
    #[must_use]
    pub fn new(source: &'a S, scan: &'a Scan) -> Self {
        Self { source, scan }
    }
}

impl<'a, S: Source + ?Sized> Scanned<'a, S> {
    /// The digest of the bytes of `range`, by offset in the file. Nothing is read for that of all of them, which the scan has.
    pub fn digest_of(self, range: Range<u64>) -> Result<Digest, S::Error> {
        if range == (0..self.scan.size) { Ok(self.scan.digest) } else { digest_of(self.source, range) }
    }

    /// The offset at which a line begins; of a line after the last one, the end of the file.
    pub fn offset_of(self, line: LineNumber) -> Result<u64, S::Error> {
        self.cursor().offset_of(line)
    }

    /// The offsets of some lines, terminators included; lines that do not exist have no bytes.
    pub fn bytes_of(self, lines: LineRange) -> Result<Range<u64>, S::Error> {
        let start = self.offset_of(lines.start())?;
        let end = if lines.is_empty() { start } else { self.offset_of(LineNumber::from_index(lines.end()))? };
        Ok(start..end)
    }

    /// The number of the line that holds the byte at `offset`, and where it begins. At the end of the file: the last
    /// line if it lacks its terminator, else the line that would come next.
    pub fn line_at(self, offset: u64) -> Result<(LineNumber, u64), S::Error> {
        self.cursor().line_at(offset)
    }

    /// A cursor for the lines of many offsets, or the offsets of many lines, in rising order: what lies between them is
    /// read once.
    #[must_use]
    pub fn cursor(self) -> Cursor<'a, S> {
        self.scan.lines.cursor(self.source)
    }

    /// Hands out the lines of `bytes`, which begin with the line `first` and end with a line or the file, until `each`
    /// returns false. Of a line's text at most `longest` bytes are kept, cut at a code unit.
    pub fn for_each_line(
        self,
        first: LineNumber,
        bytes: Range<u64>,
        longest: usize,
        each: impl FnMut(Line<'_>) -> bool,
    ) -> Result<(), S::Error> {
        self.scan.lines.for_each(self.source, first, bytes, longest, each)
    }
}
