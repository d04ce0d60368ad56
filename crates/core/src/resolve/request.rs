//! The parts that requests have in common: the lines they name, and how strictly and how much they may match.

use crate::digest::DigestPrefix;
use crate::line::{LineRange, reversed};
use crate::rejection::{At, Rejection};
use crate::scan::Scan;
use crate::slip::TextKind;

/// Lines as a client names them, unchecked, with the digest that it remembers of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedRange {
    /// The first line, from 1; below that it is out of range.
    pub start: i64,
    /// The last line, included; `None` for the file's last.
    pub end: Option<i64>,
    /// The expected digest of the lines' bytes, terminators included, or its beginning; `None` to expect
    /// nothing.
    pub range_hash: Option<DigestPrefix>,
}

impl GuardedRange {
    /// Returns the lines, if the file has them.
    pub(super) fn lines(&self, scan: &Scan, at: At) -> Result<LineRange, Rejection> {
        let (start, end, total) = (self.start, self.end, scan.lines.count());
        let out_of_range = Rejection::LineOutOfRange { at, start, end, total };
        match reversed(start, end) {
            Some(end) => Err(Rejection::InvalidRange { at, start, end }),
            None => LineRange::existing(start, end, total).ok_or(out_of_range),
        }
    }
}

/// The most occurrences that one request may replace in a file, unless told otherwise.
pub const MAX_OCCURRENCES: u64 = 100_000;

/// The most bytes of new text that one request may put into a file, unless told otherwise.
pub const MAX_INSERTED: u64 = 256 << 20;

/// The strictness of a request, and the bounds on what it may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchOptions {
    /// True if text must match in [`Tier::Exact`](crate::matching::Tier::Exact); else the second tier is
    /// tried where the first one finds nothing.
    pub strict: bool,
    /// The most occurrences that may be replaced by all patches with `replace_all` together.
    pub max_occurrences: u64,
    /// The most bytes of new text, in the file's encoding, that all patches together may put into the file:
    /// each place has a copy of its own.
    pub max_inserted: u64,
    /// The kind of the text whose new parts are reviewed; `None` to review nothing.
    pub review: Option<TextKind>,
}

impl Default for MatchOptions {
    /// Allows both tiers, [`MAX_OCCURRENCES`] and [`MAX_INSERTED`], and reviews nothing.
    fn default() -> Self {
        let (max_occurrences, max_inserted) = (MAX_OCCURRENCES, MAX_INSERTED);
        Self { strict: false, max_occurrences, max_inserted, review: None }
    }
}
