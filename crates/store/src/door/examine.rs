//! Answers for a person who sets machines up: the state of their database, the meaning of a directory's locks
//! to other machines, and how late it shows what these change.

use std::path::Path;

use crate::postgres::report::DatabaseReport;
use crate::root_names::{Caches, FileLocks};
use crate::workspace::Workspace;

impl Workspace {
    /// Tells what is wrong with the database of several machines, and what is kept in it; `None` without one.
    /// Changes nothing there and makes no schema. Takes at most some seconds for each of its hosts.
    #[must_use]
    pub fn examine_database(&self) -> Option<DatabaseReport> {
        Some(self.shared.as_ref()?.examine())
    }

    /// Tells whether locks on the files of a directory keep other machines out, as far as its mount tells.
    /// The path is absolute and without links.
    #[must_use]
    pub fn file_locks(&self, directory: &Path) -> FileLocks {
        self.root_names.locks(directory)
    }
    /// Tells how late a directory shows what other machines change, as far as its mount tells. The path is
    /// absolute and without links.
    #[must_use]
    pub fn caches(&self, directory: &Path) -> Caches {
        self.root_names.caches(directory)
    }
}
