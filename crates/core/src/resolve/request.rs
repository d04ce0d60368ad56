//! What requests have in common: the lines they name, and how strictly and how much they may match.

use crate::digest::DigestPrefix;
use crate::line::{LineRange, reversed};
use crate::rejection::{At, Rejection};
use crate::scan::Scan;

/// Lines as a client names them, with the digest it remembers of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedRange {
    /// The first line, as it was sent; below 1 is out of range.
    pub start: i64,
    /// The last line, included; `None` is the file's last.
    pub end: Option<i64>,
    /// The digest of the lines' bytes, terminators included.
    pub range_hash: Option<DigestPrefix>,
}

/// How many occurrences one request may replace in a file, unless told otherwise.
pub const MAX_OCCURRENCES: u64 = 100_000;

/// How many bytes of new text one request may put into a file, unless told otherwise.
pub const MAX_INSERTED: u64 = 256 << 20;

/// How strictly to match, and how much one request may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Match only character by character.
    pub strict: bool,
    /// How many occurrences the patches of a file that replace every one may replace together.
    pub max_occurrences: u64,
    /// How many bytes of new text, in its encoding, the patches of a file may put into it together: each place has a copy of
    /// its own.
    pub max_inserted: u64,
}

impl Default for Options {
    /// The second tier is looked into, too; [`MAX_OCCURRENCES`], [`MAX_INSERTED`].
    fn default() -> Self {
        Self { strict: false, max_occurrences: MAX_OCCURRENCES, max_inserted: MAX_INSERTED }
    }
}

/// The lines a client means, which must exist.
pub(super) fn existing_lines(
    scan: &Scan,
    at: At,
    start: i64,
    end: Option<i64>,
) -> Result<LineRange, Rejection> {
    let total = scan.lines.count();
    if let Some(end) = reversed(start, end) {
        return Err(Rejection::InvalidRange { at, start, end });
    }
    let out_of_range = Rejection::LineOutOfRange { at, start, end, total };
    let (Ok(first), Ok(last)) = (u64::try_from(start), end.map_or(Ok(total), u64::try_from)) else {
        return Err(out_of_range);
    };
    match LineRange::inclusive(first, last) {
        Some(range) if first <= total && last <= total && !range.is_empty() => Ok(range),
        _ => Err(out_of_range),
    }
}
