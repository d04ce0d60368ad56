//! Defines what requests have in common: the lines that they name, and how strictly and how much they can
//! match.

use crate::digest::DigestPrefix;
use crate::line::{LineRange, reversed};
use crate::rejection::{At, Rejection, TextKind};
use crate::scan::Scan;

/// Lines as a client names them, unchecked, with the digest that the client remembers of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedRange {
    /// The number of the first line, from 1. Smaller numbers are rejected as out of range.
    pub start: i64,
    /// The number of the last line, inclusive; `None` for the last line of the file.
    pub end: Option<i64>,
    /// The expected digest of the lines' bytes, terminators included, or its beginning; `None` to expect
    /// nothing.
    pub range_hash: Option<DigestPrefix>,
}

impl GuardedRange {
    /// Returns the lines. The error is the rejection if the range is reversed, or not in the file.
    pub(super) fn lines(&self, scan: &Scan, at: At) -> Result<LineRange, Rejection> {
        let (start, end, total) = (self.start, self.end, scan.lines.count());
        let out_of_range = Rejection::LineOutOfRange { at, start, end, total };
        match reversed(start, end) {
            Some(end) => Err(Rejection::InvalidRange { at, start, end }),
            None => LineRange::existing(start, end, total).ok_or(out_of_range),
        }
    }
}

/// The default maximum number of occurrences that one request replaces in a file.
pub const MAX_OCCURRENCES: u64 = 100_000;

/// The default maximum number of bytes of new text that one request puts into a file.
pub const MAX_INSERTED: u64 = 256 << 20;

/// The strictness of a request, and the bounds on what it may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchOptions {
    /// True if text must match in [`Tier::Exact`](crate::matching::Tier::Exact); otherwise the second tier is
    /// tried for a text that the first tier does not find.
    pub strict: bool,
    /// The maximum number of occurrences that all patches with `replace_all` together replace.
    pub max_occurrences: u64,
    /// The maximum number of bytes of new text, in the file's encoding, that all patches together put into
    /// the file. The copy at each place counts.
    pub max_inserted: u64,
    /// The kind of the file's text, if new text is reviewed; `None` to review nothing.
    pub review: Option<TextKind>,
}

impl Default for MatchOptions {
    /// Allows both tiers, [`MAX_OCCURRENCES`] and [`MAX_INSERTED`], and reviews nothing.
    fn default() -> Self {
        let (max_occurrences, max_inserted) = (MAX_OCCURRENCES, MAX_INSERTED);
        Self { strict: false, max_occurrences, max_inserted, review: None }
    }
}
