//! Words: the only room where replies and problems are worded and laid out.
//!
//! This room reads no disk. What it says of a file comes from the store: with the content, or in the error of
//! the very access that failed. So a sentence is true of that moment.

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
