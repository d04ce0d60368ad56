//! A diff as data: [`Hunks`], for callers that do not show it as text.

use crate::line_ending::LineEnding;

/// The hunks of a diff.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hunks {
    /// The hunks, in file order.
    pub hunks: Vec<DiffHunk>,
    /// Whether lines of the diff are left out.
    pub is_cut: bool,
    /// The numbers of added and removed lines of the whole diff, also of lines that `hunks` leaves out;
    /// `None` if unknown.
    pub counts: Option<LineCounts>,
}

/// The numbers of lines that a change added and removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The number of lines of the new file that are not in the old file.
    pub added: u64,
    /// The number of lines of the old file that are not in the new file.
    pub removed: u64,
}

/// Changed lines, with unchanged context lines before and after them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffHunk {
    /// The number of the first old line in the old file, from 1. If the hunk has no old lines, the number of
    /// the line after the insertion point.
    pub old_start: u64,
    /// The same for the new lines in the new file.
    pub new_start: u64,
    /// The lines.
    pub rows: Vec<DiffRow>,
}

/// A line of a hunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// The file that has the line.
    pub side: RowSide,
    /// Its text, without its line end.
    pub text: String,
    /// The end of the line.
    pub end: RowEnd,
    /// Whether `text` is only a part of the line's text.
    pub is_cut: bool,
}

/// The file that has a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowSide {
    /// Both files.
    Both,
    /// Only the old file.
    Old,
    /// Only the new file.
    New,
}

/// The end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowEnd {
    /// The line ends with a terminator, but it is unknown with which one.
    Some,
    /// The line ends with this terminator.
    With(LineEnding),
    /// The line ends with the file, without a terminator.
    None,
}
