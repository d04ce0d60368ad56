//! Words: the only room where replies and problems are worded and laid out.
//!
//! Words look at no disk. What they say of a file, the store has told them: with its content, or in the error
//! of the very look that failed, so that a sentence is true of that moment.

pub mod directories;
pub mod edit;
pub(crate) mod escape;
pub mod explain;
pub mod history;
pub mod layout;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod part;
pub(crate) mod past;
pub(crate) mod paths;
mod privacy;
pub mod read;
pub(crate) mod search;
mod sharing;
pub mod shell;
mod skipped;
pub(crate) mod story;
pub(crate) mod turned;

#[cfg(test)]
mod tests;
