//! Looking past edits up.

use std::path::{Path, PathBuf};

use crate::access::roots::PathError;
use crate::access::suggested::search::Purpose;
use crate::edit::states::{States, now, states};
use crate::edit::undo::is_in_roots;
use crate::error::StoreErrorKind;
use crate::history::{EditId, Entry, Filter, History, NotKept};
#[cfg(feature = "postgres")]
use crate::root_names::SharedPath;
use crate::workspace::Workspace;

impl Workspace {
    /// Returns the history, whole: edits of files outside the roots are in it, too. For people.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns what a path is called on all machines that share a database: an absolute one, without links;
    /// `None` where nothing tells.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn shared_path(&self, path: &Path) -> Option<SharedPath> {
        self.root_names.shared(path)
    }

    /// Returns where that is on this machine, whether there is a file or not; `None` where its directory
    /// cannot be reached here.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn local_path(&self, shared: &SharedPath) -> Option<PathBuf> {
        self.root_names.local(shared)
    }

    /// Returns the past edits of which all files lie in the roots, the newest first, at most `limit`; with a
    /// path those of this file, or of files below this directory.
    pub fn edits(&self, path: Option<&Path>, limit: usize) -> Result<Vec<Entry>, NotKept> {
        self.find_edits(&Filter::of_path(path), limit)
    }

    /// Returns the past edits of which all files lie in the roots, and which pass the filter, the newest
    /// first, at most `limit`.
    pub fn find_edits(&self, filter: &Filter, limit: usize) -> Result<Vec<Entry>, NotKept> {
        self.history.find(filter, limit, &|entry| is_in_roots(self, entry))
    }

    /// Returns what a file held before and after a past edit whose files all lie in the roots; the file is
    /// told by its index there.
    ///
    /// It is put together from what the file holds now, wherever later edits have moved it, and from what
    /// turns those back; digests prove it. `None` if the edit is not kept, if somebody else has changed the
    /// file since, or if more than 64 MiB would have to be held, or 4 GiB copied. An error is that of a
    /// history that cannot be read.
    pub fn states(&self, id: &EditId, file: usize) -> Result<Option<States>, NotKept> {
        states(self, id, file)
    }

    /// Returns the bytes of a file in the roots as it is now, by its absolute path without links; `None` if
    /// there is none that can be read, or if it has more than 64 MiB.
    #[must_use]
    pub fn bytes_of(&self, path: &Path) -> Option<Vec<u8>> {
        now(self, path)
    }

    /// Returns the past edit of this id, if all of its files lie in the roots.
    pub fn edit(&self, id: &EditId) -> Result<Option<Entry>, NotKept> {
        let found = self.history.get(id)?;
        Ok(found.map(|(entry, _)| entry).filter(|entry| is_in_roots(self, entry)))
    }

    /// Returns the real path by which edits of this file, or below this directory, are kept; a root is one,
    /// too.
    pub fn resolve_for_history(&self, file_path: &str) -> Result<PathBuf, Vec<PathError>> {
        match self.roots.resolve(file_path) {
            Ok(place) => Ok(place.path().to_owned()),
            Err(problems) => match problems.as_slice() {
                [PathError::Failed(error)] if error.kind == StoreErrorKind::IsADirectory => {
                    Ok(error.path.clone())
                }
                _ => Err(self.with_likely_files(file_path, Purpose::Reading, problems)),
            },
        }
    }
}
