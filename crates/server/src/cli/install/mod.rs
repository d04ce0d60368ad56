//! The subcommand `install`: writes this server into the configuration of a client, or takes it out again.
//!
//! `clients` is the one table of what each client needs; `machine` finds directories and programs on a
//! system; `entry` makes the words that start the server; `server` tells which server such words start;
//! `find` finds a client by a typed name, and on the machine; `harmless` says what a project's entry may do
//! unasked; `json` and `toml` change one value of a text; `change` makes the changes of each file's text;
//! `apply` reads and writes through the store. For entries that lead to a server over HTTP, `remote` has the
//! shapes, `remote_entry` reads and makes one, and `remote_install` writes it. `scopes` has all places where
//! a client looks; `run` carries the request out, and reports.

mod apply;
mod broken;
mod change;
pub mod clients;
pub mod entry;
mod error;
mod find;
pub mod harmless;
mod json;
pub mod machine;
pub mod remote;
pub mod remote_entry;
mod remote_install;
mod run;
pub mod scopes;
mod server;
mod syntax;
#[cfg(test)]
mod tests;
mod toml;

pub use self::apply::configuration;
pub use self::broken::{Broken, at};
pub use self::change::{expanded, files_of, is_there, other_entries, place_of};
pub use self::error::InstallError;
pub use self::run::{InstallRequest, install};
pub use self::server::EntryServer;
pub use self::syntax::Syntax;
