//! A diff as data: [`Hunks`], for whoever shows it otherwise than as text.

use crate::line_ending::LineEnding;

/// The hunks of a diff.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hunks {
    /// The hunks, in file order.
    pub hunks: Vec<DiffHunk>,
    /// Whether lines of the diff are left out.
    pub is_cut: bool,
    /// The number of lines that came and went, whether the hunks have all of them or not; `None` if that is
    /// not known.
    pub counts: Option<LineCounts>,
}

/// The number of lines that a change added and removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The lines of the new file that are not in the old one.
    pub added: u64,
    /// The lines of the old file that are not in the new one.
    pub removed: u64,
}

/// Lines that differ, and some that do not above and below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffHunk {
    /// The number of the first line in the old file, from 1; where the hunk has no old line, that of the line
    /// before which it stands.
    pub old_start: u64,
    /// The same in the new file.
    pub new_start: u64,
    /// The lines.
    pub rows: Vec<DiffRow>,
}

/// A line of a hunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// The file that has it.
    pub side: RowSide,
    /// Its text, without its line end.
    pub text: String,
    /// The end of it.
    pub end: RowEnd,
    /// Whether `text` is only a part of its text.
    pub is_cut: bool,
}

/// The file that has a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowSide {
    /// Both.
    Both,
    /// The old one.
    Old,
    /// The new one.
    New,
}

/// The end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowEnd {
    /// With a terminator; which one is not known.
    Some,
    /// With this terminator.
    With(LineEnding),
    /// With the file.
    None,
}
