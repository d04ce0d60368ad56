//! The tools: one file each, with its words, which arguments it takes, and how its request is read from the
//! arguments. [`crate::actions`] does what a tool does.

mod all;
mod app;
pub mod append;
pub mod copy_lines;
pub mod create;
pub mod delete;
pub mod edits;
pub mod get;
pub mod insert;
pub mod list;
pub mod move_file;
mod output;
pub mod patch;
pub mod remove_file;
pub mod replace;
pub mod search;
mod shared;
mod tool;
pub mod undo;

pub use self::all::ALL;
pub use self::app::{APP_TOOLS, AppTool, offers_app_tools};
pub use self::tool::{Request, Run, Tool, parse};
