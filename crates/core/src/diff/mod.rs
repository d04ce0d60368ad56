//! Unified diffs of known changes ([`unified`](fn@unified)), and of two files that differ in known regions
//! ([`between`](fn@between)). Diffs as data, for callers that do not show them as text: read from a unified
//! diff ([`read`](fn@read)), or made from two states of a file, with the edit between them known
//! ([`Comparison`]) or unknown ([`states`](fn@states)).

mod between;
mod hunk;
mod long_lines;
mod states;
#[cfg(test)]
mod tests;
mod unapply;
mod unified;

pub use between::between;
pub use hunk::read;
pub use hunk::{DiffHunk, DiffRow, Hunks, LineCounts, RowEnd, RowSide};
pub use states::{Comparison, states};
pub use unapply::unapplied;
pub use unified::{DiffFile, LineChange, more_lines, unified};
