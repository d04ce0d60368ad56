//! The subcommand `install`: writes this server's entry into the configuration of a client, or removes it.
//!
//! `clients` has the rows of what each client needs; `environment` finds directories and programs on a
//! system; `entry` makes and reads the words that start the server, or its URL; `http` reads an entry that
//! leads to a server over HTTP; `project_allowlist` decides what a project's entry may do without asking a
//! person; `json` and `toml` change one value of a text; `merge` puts the entry into a text; `apply` reads
//! and writes files through the store. `scopes` has all places where a client looks for entries; `run`
//! carries the request out, and `report` explains the result.

mod apply;
pub mod clients;
mod config_error;
pub(crate) mod entry;
pub mod environment;
pub(crate) mod http;
mod json;
mod merge;
pub(crate) mod project_allowlist;
mod request;
mod run;
pub(crate) mod scopes;
mod syntax;
#[cfg(test)]
mod tests;
mod toml;

pub(crate) use self::apply::parsed;
pub use self::config_error::{ConfigError, at};
pub use self::entry::Target;
pub(crate) use self::merge::{expanded, is_there, other_entries};
pub use self::request::{InstallError, InstallRequest};
pub use self::run::install;
pub use self::syntax::Syntax;
