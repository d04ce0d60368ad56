//! What an edit changes, as a unified diff: of changes that are known ([`unified`]), and of two files that differ in known
//! regions ([`between`](fn@between)), which is never longer than a few hundred lines.

mod between;
mod long_lines;
#[cfg(test)]
mod tests;
mod unified;

pub use between::between;
pub use unified::{Change, Side, more_lines, unified};
