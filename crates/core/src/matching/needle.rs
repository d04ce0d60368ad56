//! The question and the answer of a search.

use std::ops::Range;

use crate::encoding::Seam;

/// The occurrences of a needle that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All that do not overlap, from left to right. At most this many are kept of all needles together; the
    /// rest are only counted.
    All(u64),
    /// The [`CLOSEST`] occurrences that are closest to this byte offset in the file. All are counted, also
    /// those that overlap.
    Closest(u64),
}

/// The maximum number of places that an error message names, and that [`Keep::Closest`] keeps.
pub const CLOSEST: usize = 10;

/// A text to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needle<'a> {
    /// The text, with `\n` for line ends. An empty text is found nowhere.
    pub text: &'a str,
    /// True if an occurrence must begin at the beginning of a line and end at the end of a line. The text
    /// must then end in `\n`.
    pub whole_lines: bool,
    /// The occurrences that are wanted.
    pub keep: Keep,
}

/// A place where the text stands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The byte range of the occurrence in the file.
    pub at: Range<u64>,
    /// The start and the end of `at`, each with the state of the encoding there, for fitting in new text
    /// between them.
    pub seams: (Seam, Seam),
    /// True if the end of a file without a final newline matched the line end of the text.
    pub at_end: bool,
    /// True if the file can be cut at both ends of the occurrence. False if an end lies inside a byte
    /// sequence that stands for two characters; then `at` is only approximate.
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
