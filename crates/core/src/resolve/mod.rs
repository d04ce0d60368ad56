//! Turns a request into the splices that carry it out, or into every reason why it cannot be. Nothing here
//! writes.
//!
//! All numbers in a request refer to the file as it was scanned, so that its parts do not depend on their
//! order. The file is known to decode: the caller has seen that
//! [`Scan::undecodable`](crate::scan::Scan::undecodable) is `None`. New text has `\n` for line ends; it takes
//! the terminators of the lines that it replaces, or of those around it, and the encoding of the file.
//!
//! A result has two levels: a read that failed, which is the source's error, and the [`Resolution`].

mod append;
mod common;
mod delete;
mod distinguishing;
mod evidence;
mod guard;
mod insert;
mod patch;
mod plan;
mod rearrange;
mod replace;
mod request;
mod review;
mod seams;
mod terminators;
#[cfg(test)]
mod tests;

pub use append::append;
pub use delete::delete;
pub use insert::insert;
pub use patch::{Patch, patch};
pub use plan::{Plan, Resolution, SpliceInfo, unless_changed};
pub use rearrange::{EditedLines, LineEdit, Position, rearrange, text_of};
pub use replace::{TextReplacement, replace};
pub use request::{GuardedRange, MAX_INSERTED, MAX_OCCURRENCES, MatchOptions};
pub use review::review_new_file;
