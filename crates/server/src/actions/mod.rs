//! Carries out typed requests, whose arguments are checked: calls the store, and makes the reply. Each module
//! has its request types and the functions that carry them out.

mod capability;
pub mod copy_lines;
pub mod create;
pub mod edit;
pub mod history;
pub mod list;
pub mod move_file;
pub mod past;
pub mod read;
pub mod remove_file;
pub mod replace;
mod reply;
pub mod search;
pub mod series;
pub(crate) mod story;
pub mod view;
