//! Questions of a person who sets machines up: what is wrong with their database, and what a directory is
//! to other machines.

use std::path::Path;

use crate::postgres::report::DatabaseReport;
use crate::root_names::FileLocks;
use crate::workspace::Workspace;

impl Workspace {
    /// Tells what is wrong with the database of several machines, and what is kept in it; `None` without one.
    /// Changes nothing there: no schema is made. Takes some seconds for each host of it at most.
    #[must_use]
    pub fn examine_database(&self) -> Option<DatabaseReport> {
        Some(self.shared.as_ref()?.examine())
    }

    /// Tells whether locks on the files of a directory keep other machines out, as far as its mount tells: an
    /// absolute path, without links.
    #[must_use]
    pub fn file_locks(&self, directory: &Path) -> FileLocks {
        self.root_names.locks(directory)
    }
}
