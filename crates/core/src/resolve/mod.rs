//! From a request to splices, or to every reason why not. Nothing here writes; a failure changes nothing.
//!
//! All numbers in a request refer to the file as it was scanned. The caller has seen to it that the file decodes.

mod append;
mod delete;
mod evidence;
mod guard;
mod insert;
mod patch;
mod plan;
mod request;
mod seams;
mod terminators;
#[cfg(test)]
mod tests;

pub use append::append;
pub use delete::delete;
pub use insert::{Position, insert};
pub use patch::{Patch, patch};
pub use plan::{Plan, Resolution, SpliceInfo};
pub use request::{GuardedRange, MAX_INSERTED, MAX_OCCURRENCES, Options};
