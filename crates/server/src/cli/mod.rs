//! Defines and resolves the command line, and has the subcommands for people.

mod args;
pub mod by_hand;
pub mod call;
pub mod cluster;
pub mod confine;
pub mod doctor;
pub mod documents;
mod help;
mod here;
pub mod history;
mod http;
pub mod install;
pub mod limits;
pub mod log;
mod resolve;
pub mod terminal;
pub mod tools;
pub mod workspace;

pub use self::args::Arguments;
pub use self::here::current_dir;
pub use self::resolve::{Action, Command, resolve};
