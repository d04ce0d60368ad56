//! The subcommand `install`: writes this server into the configuration of a client, or takes it out again.
//!
//! `clients` has the rows of what each client needs; `machine` finds directories and programs on a system;
//! `entry` makes and reads the words that start the server, or its URL; `http` reads an entry that leads to
//! a server over HTTP; `harmless` says what a project's entry may do unasked; `json` and `toml` change one
//! value of a text; `merge` puts the entry into a text; `apply` reads and writes through the store. `scopes`
//! has all places where a client looks; `run` carries the request out, `report` says what it means.

mod apply;
mod broken;
pub mod clients;
pub mod entry;
pub mod harmless;
pub mod http;
mod json;
pub mod machine;
mod merge;
mod report;
mod request;
mod run;
pub mod scopes;
mod syntax;
#[cfg(test)]
mod tests;
mod toml;

pub use self::apply::parsed;
pub use self::broken::{Broken, at};
pub use self::merge::{expanded, is_there, other_entries};
pub use self::request::{InstallError, InstallRequest};
pub use self::run::install;
pub use self::syntax::Syntax;
