//! A unified diff, built from known changes instead of two whole files.
//!
//! Only the lines around a change are read, so that the diff of a one-line edit in a file of a gigabyte costs
//! a few lines. Terminators are not shown: a line that ends with `\r\n` looks like one that ends with `\n`.

mod bounded_text;
mod changes;

pub use bounded_text::more_lines;
pub use changes::{DiffFile, LineChange, unified};
pub(super) use changes::{position, quoted};
