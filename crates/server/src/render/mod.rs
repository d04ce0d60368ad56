//! Words: replies, and reasons why a call was refused, are worded and laid out here.
//!
//! Faults of arguments are worded in `arguments` and `tools`, those of a session in `protocol`. This room
//! opens no file. What it says of a file comes from the store: with the content, in the error of the very
//! access that failed, or by a function that `tools` hands over. It chooses the advice and how much of a
//! reply fits, never what happens to a file.

pub mod directories;
pub mod edit;
pub(crate) mod escape;
pub mod explain;
pub mod history;
pub mod layout;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod past;
pub(crate) mod paths;
pub(crate) mod privacy;
pub mod read;
pub(crate) mod replace;
pub(crate) mod search;
pub mod shell;
mod skipped;
mod slips;
pub(crate) mod story;
pub(crate) mod turned;

#[cfg(test)]
mod tests;
