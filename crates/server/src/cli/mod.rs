//! The command line: what was typed becomes what the process does, and what people see of it.

mod args;
pub mod call;
pub mod history;
pub mod limits;
mod resolve;
pub mod tools;

pub use self::args::Arguments;
pub use self::resolve::{Action, Command, HistoryAction, resolve};
