//! Turns a request into the splices that carry it out, or into all reasons why it cannot be carried out.
//! Nothing here writes.
//!
//! All line numbers in a request refer to the file as it was scanned; the order of a request's parts
//! therefore does not matter. The file is known to decode: the caller must have checked that
//! [`Scan::undecodable`](crate::scan::Scan::undecodable) is `None`. New text has `\n` for line ends. It is
//! written with the terminators of the lines that it replaces, or of the lines around it, and in the encoding
//! of the file.
//!
//! Results are nested: the outer error is a failed read of the source, and the inner result is the
//! [`Resolution`].

mod common;
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
#[cfg(test)]
mod tests;

pub use insert::append;
pub use insert::delete;
pub use insert::insert;
pub use patch::{Patch, patch};
pub use plan::{Plan, Resolution, SpliceInfo, unless_changed};
pub use rearrange::{EditedLines, LineEdit, Position, rearrange, text_of};
pub use replace::{TextReplacement, replace};
pub use request::{GuardedRange, MAX_INSERTED, MAX_OCCURRENCES, MatchOptions};
pub use review::review_new_file;
