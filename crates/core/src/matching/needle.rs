//! The question and the answer of a search.

use std::ops::Range;

use crate::encoding::Seam;

/// The occurrences of a needle that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All from left to right that do not overlap, but no more than this many of all needles together; the
    /// others are counted.
    All(u64),
    /// The [`CLOSEST`] closest to this offset in the file, in bytes; all are counted, overlapping ones too.
    Closest(u64),
}

/// The most places that an error names, and that [`Keep::Closest`] keeps.
pub const CLOSEST: usize = 10;

/// A text to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needle<'a> {
    /// The text, with `\n` for line ends. An empty text is found nowhere.
    pub text: &'a str,
    /// True if an occurrence must begin at the beginning of a line and end at the end of one; the text then
    /// ends in `\n`.
    pub whole_lines: bool,
    /// The occurrences that are wanted.
    pub keep: Keep,
}

/// A place where the text stands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The offsets of its bytes in the file.
    pub at: Range<u64>,
    /// The places of the file between which new text is to be fitted in: those of `at`, each with the state
    /// of the encoding.
    pub seams: (Seam, Seam),
    /// True if the end of a file without a final newline matched the line end of the text.
    pub at_end: bool,
    /// True if the file may be cut here: not inside a byte sequence that stands for two characters. Then `at`
    /// is only near.
    pub editable: bool,
}

/// The result of a search for one needle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NeedleMatches {
    /// The number of occurrences, whether kept or not.
    pub count: u64,
    /// The occurrences that were wanted, in file order.
    pub places: Vec<Occurrence>,
}
