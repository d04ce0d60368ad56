//! Shares state between several machines: the journal and the history, in a `PostgreSQL` database, and names
//! of directories that are valid on all machines. [`Cluster`] has all of these; pass it to
//! [`WorkspaceBuilder::shared`] of [`mcp_text_editor_store`].
//!
//! [`WorkspaceBuilder::shared`]: mcp_text_editor_store::WorkspaceBuilder::shared

mod cluster;
mod history;
mod journal;
mod postgres;
mod root_names;
#[cfg(test)]
mod tests;

pub use cluster::{Cluster, WithoutDatabase};
pub use postgres::error::DatabaseError;
pub use postgres::error::{
    ClockOffset, DatabaseFacts, DatabaseReport, HostReport, Kept, NoSession, SchemaLack, SchemaState, Writes,
};
pub use postgres::url::{BadStateUrl, StateUrl};
pub use root_names::{BadRootName, Caches, FileLocks, RootName, RootNameTaken, RootNames, SharedPath};
