//! Defines and resolves the command line, and has the subcommands for people.

mod args;
pub mod by_hand;
pub mod call;
pub mod cluster;
pub mod doctor;
pub mod documents;
mod help;
pub mod history;
mod http;
pub mod install;
pub mod limits;
mod resolve;
pub mod terminal;
pub mod workspace;

pub use self::args::Arguments;
pub use self::resolve::{Action, Command, resolve};
pub use self::terminal::current_dir;
