//! Looks for slips in new text: line numbers that were copied along, an empty line that nobody meant, a line
//! that stands there twice.
//!
//! A certain slip is a reason to refuse the request, and a likely one a warning. [`review`] is pure: it gets
//! the few lines that it compares. `benches/edits` measures how often it is wrong about right edits.

mod findings;
mod surroundings;
#[cfg(test)]
mod tests;

pub use self::findings::review_new_file;
pub(super) use self::findings::{NamedBy, review};
pub(super) use self::surroundings::Surroundings;
