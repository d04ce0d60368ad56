//! The connection of a record to the database: [`JournalLink`].

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::observer::Observer;
use crate::postgres::database::Database;
use crate::postgres::error::DatabaseError;
use crate::root_names::RootNames;

/// The database, and the observer that is told how many records are in work.
#[derive(Clone, Debug)]
pub(super) struct JournalLink {
    pub(super) database: Database,
    pub(super) observer: Observer,
    /// The names of directories on all machines.
    pub(super) roots: Arc<RootNames>,
}

/// Turns an error of the database into that of an edit that concerns this file.
pub(super) fn failed(operation: Operation, path: &Path, error: DatabaseError) -> StoreError {
    let source = Some(io::Error::other(error));
    StoreError { source, ..StoreError::new(operation, path, StoreErrorKind::Io) }
}

/// Returns a random number of 63 bits, which nobody else draws.
pub(super) fn drawn() -> i64 {
    i64::try_from(RandomState::new().build_hasher().finish() >> 1).unwrap_or_default()
}
