//! Looks up past edits.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::diff::Comparison;

use crate::access::roots::PathError;
use crate::access::suggested::search::Purpose;
use crate::cancellation::Cancellation;
use crate::edit::in_roots::{is_in_roots, is_path_in_roots};
use crate::edit::snapshot::{Snapshot, now};
use crate::edit::states::{KnownStates, States, comparison, states};
use crate::error::StoreErrorKind;
use crate::history::{EditId, Entry, EntryFile, Filter, History, NotKept};
use crate::workspace::Workspace;

impl Workspace {
    /// Returns the whole history, including edits of files outside the roots. It is meant for people, not for
    /// clients.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns at most `limit` past edits whose files are all in the roots, the newest first. With a path,
    /// returns only edits of this file, or of files below this directory.
    pub fn edits(&self, path: Option<&Path>, limit: usize) -> Result<Vec<Entry>, NotKept> {
        self.find_edits(&Filter::of_path(path), limit, Cancellation::none())
    }

    /// Returns at most `limit` past edits that pass the filter and whose files are all in the roots, the
    /// newest first. If the call is cancelled, returns the edits that were found so far.
    pub fn find_edits(
        &self,
        filter: &Filter,
        limit: usize,
        cancellation: Cancellation<'_>,
    ) -> Result<Vec<Entry>, NotKept> {
        // For each path, the result of the check is cached: many edits concern few files, and each check
        // opens directories.
        let mut known: HashMap<PathBuf, bool> = HashMap::new();
        let mut found = Vec::new();
        self.history.each(filter, limit, &mut |entry| {
            if found.len() == limit || cancellation.is_cancelled() {
                return ControlFlow::Break(());
            }
            let mut is_known = |file: &EntryFile| {
                let known = known.entry(file.path.clone());
                *known.or_insert_with(|| is_path_in_roots(self, &file.path))
            };
            if entry.files.iter().all(&mut is_known) {
                found.push(entry);
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Returns the bytes of a file before and after a past edit, whose files must all be in the roots. `file`
    /// is the file's index in the edit.
    ///
    /// The bytes are reconstructed from the file's present content, even if later edits have moved the file,
    /// and from the undo data of the edits since then. Digests verify the result. Returns `None` if the edit
    /// is not kept, if another program has changed the file since, or if a state has more than 64 MiB. The
    /// error says why the history cannot be read.
    pub fn states(&self, id: &EditId, file: usize) -> Result<Option<States>, NotKept> {
        states(Snapshot::of(self), id, file)
    }

    /// Compares the states of a file before and after a past edit, without holding them in memory. Returns
    /// `None` where [`Workspace::states`] does. The hunks have at most `most` bytes of text. For a file that
    /// was only moved, both states are the same.
    ///
    /// `known` remembers one state of each file. So if a caller compares the edits of a file, the newest
    /// first, each edit is reversed only once.
    pub fn comparison(
        &self,
        id: &EditId,
        file: usize,
        most: usize,
        known: &mut KnownStates,
    ) -> Result<Option<Comparison>, NotKept> {
        comparison(Snapshot::of(self), id, file, most, known)
    }

    /// Returns the present bytes of a file in the roots, given its absolute path without symbolic links;
    /// `None` if the file cannot be read, or has more than 64 MiB.
    #[must_use]
    pub fn bytes_of(&self, path: &Path) -> Option<Vec<u8>> {
        now(Snapshot::of(self), path)
    }

    /// Returns the past edit with this id; `None` if it is not kept, or if not all of its files are in the
    /// roots.
    pub fn edit(&self, id: &EditId) -> Result<Option<Entry>, NotKept> {
        let found = self.history.get(id)?;
        Ok(found.map(|(entry, _)| entry).filter(|entry| is_in_roots(self, entry)))
    }

    /// Returns the real path under which the edits of this file, or of files below this directory, are kept.
    /// The path can be the path of a root.
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
