//! A unified diff, built from the changes that are known instead of from two whole files.
//!
//! Only the lines around a change are asked for, so that the diff of a one-line edit in a gigabyte costs a
//! few lines. Terminators are not shown: a line that is `\r\n` looks like one that is `\n`.

mod bounded_text;
mod changes;

pub use bounded_text::more_lines;
pub use changes::{DiffFile, LineChange, unified};
pub(super) use changes::{position, quoted};
