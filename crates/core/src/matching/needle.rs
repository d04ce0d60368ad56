//! What a search is asked, and what it answers.

use std::ops::Range;

use crate::encoding::Seam;

/// Which occurrences are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All, left to right without overlap; no more than this many of all needles together (they are counted on).
    All(u64),
    /// Overlapping ones too; all are counted, the [`CLOSEST`] closest to this offset are kept.
    Closest(u64),
}

/// How many places an error names.
pub const CLOSEST: usize = 10;

/// A text to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needle<'a> {
    /// The text, with `\n` for line ends; not empty.
    pub text: &'a str,
    /// Whether it must begin and end with a line; the text then ends in `\n`.
    pub whole_lines: bool,
    /// Which occurrences are wanted.
    pub keep: Keep,
}

/// A place where the text stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Its bytes.
    pub at: Range<u64>,
    /// Between which places of the file new text is to be fitted in.
    pub seams: (Seam, Seam),
    /// Whether the line end that ends the text matched the end of a file without a final newline.
    pub at_end: bool,
    /// Whether bytes may be cut here: false inside a sequence that stands for two characters. `at` is then only near.
    pub editable: bool,
}

/// All that was found of one needle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// How many occurrences there are.
    pub count: u64,
    /// Those that were wanted, in file order.
    pub places: Vec<Occurrence>,
}
