//! Unified diffs of edits: of changes that are known ([`unified`](fn@unified)), and of two files that differ
//! in known regions ([`between`](fn@between)). Diffs as data, to be shown in another form: read from such a
//! text ([`read`](fn@read)), or made from two states of a file, whether the edit between them is known
//! ([`Comparison`]) or not ([`states`](fn@states)).

mod between;
mod hunk;
mod long_lines;
mod read;
mod states;
#[cfg(test)]
mod tests;
mod unapply;
mod unified;

pub use between::between;
pub use hunk::{DiffHunk, DiffRow, Hunks, LineCounts, RowEnd, RowSide};
pub use read::read;
pub use states::{Comparison, states};
pub use unapply::unapplied;
pub use unified::{DiffFile, LineChange, more_lines, unified};
