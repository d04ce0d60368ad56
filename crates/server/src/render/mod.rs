//! Words and lays out replies, and the reasons why a call failed.
//!
//! But `arguments` and `tools` word the faults of arguments, and `protocol` words the faults of a session.
//! This module opens no file. Its facts about a file come from the store: with the content, in the error of
//! the access that failed, or from a function that `tools` passes. It decides which advice is given and how
//! much of a reply fits, never what happens to a file.

pub mod directories;
pub mod edit;
pub(crate) mod escape;
pub mod explain;
pub mod history;
pub mod layout;
pub(crate) mod limits;
pub(crate) mod page;
pub(crate) mod past;
pub mod read;
pub(crate) mod replace;
pub(crate) mod search;
pub mod shell;
mod slips;
pub(crate) mod story;

#[cfg(test)]
mod tests;
