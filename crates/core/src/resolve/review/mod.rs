//! Looks for slips (probable mistakes of the client) in new text, such as copied line numbers, an unintended
//! empty line, or a line that would stand there twice.
//!
//! For a certain slip the request is rejected; for a likely slip the reply has a warning. [`review`] is pure:
//! the caller passes the few lines that it compares. `benches/edits` measures how often it objects to correct
//! edits.

mod findings;
mod surroundings;
#[cfg(test)]
mod tests;

pub use self::findings::review_new_file;
pub(super) use self::findings::{NamedBy, review};
pub(super) use self::surroundings::Surroundings;
