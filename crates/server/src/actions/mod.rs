//! From a typed request to the store, and back to a reply: what a tool does once its arguments are checked.
//! Each request stands beside what is done with it.

pub mod create;
pub mod edit;
pub mod history;
pub mod list;
pub mod move_file;
pub mod past;
pub mod read;
pub mod remove_file;
mod reply;
pub mod search;
pub mod series;
pub(crate) mod story;
pub mod view;
