//! Unified diffs of edits: of changes that are known ([`unified`](fn@unified)), and of two files that differ in known regions
//! ([`between`](fn@between)).

mod between;
mod long_lines;
#[cfg(test)]
mod tests;
mod unified;

pub use between::between;
pub use unified::{Change, Side, more_lines, unified};
