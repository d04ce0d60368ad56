//! Answers for a person who sets machines up: the state of their database, and the meaning of a directory's
//! locks to other machines.

use std::path::Path;

use crate::postgres::report::DatabaseReport;
use crate::root_names::FileLocks;
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
}
