//! The connection of a record to the database: [`JournalLink`].

use std::io;
use std::path::Path;
use std::sync::Arc;

use mcp_text_editor_store::{Observer, Operation, StoreError, StoreErrorKind};

use crate::postgres::database::Database;
use crate::postgres::error::DatabaseError;
use crate::root_names::RootNames;

/// The database, and the observer that counts the records in work.
#[derive(Clone, Debug)]
pub(crate) struct JournalLink {
    pub(crate) database: Database,
    pub(crate) observer: Observer,
    /// The names of directories on all machines.
    pub(crate) roots: Arc<RootNames>,
}

/// Turns an error of the database into the error of an edit of the file at `path`.
pub(crate) fn failed(operation: Operation, path: &Path, error: DatabaseError) -> StoreError {
    let source = Some(io::Error::other(error));
    StoreError { source, ..StoreError::new(operation, path, StoreErrorKind::Io) }
}
