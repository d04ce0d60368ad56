//! Looks up past edits.
//!
//! Undoes past edits, and recovers calls that a process left unfinished.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::diff::Comparison;

use crate::access::place::DirectoryKey;
use crate::access::policy::Policy;
use crate::access::roots::{PathError, Roots};
use crate::access::suggested::Purpose;
use crate::cancellation::Cancellation;
use crate::door::edit::Control;
use crate::edit::request::{is_in_roots, is_path_in_roots};
use crate::edit::snapshot::{Snapshot, now};
use crate::edit::states::{KnownStates, States, comparison, states};
use crate::edit::undo::{UndoError, Undone, undo};
use crate::edit::undo_plan::UndoPlan;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry, EntryFile, Filter, History, NotKept};
use crate::recovery::{gate, recover};
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

impl Workspace {
    /// Undoes an edit, in all of its files or in none. Each file must still have the content that the edit
    /// left. The undo is an edit, too: undoing it is a redo.
    pub fn undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, false)
    }

    /// Checks everything that [`Workspace::undo`] would check, and returns the changes that it would make.
    /// Writes nothing.
    pub fn plan_undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, true)
    }

    /// Plans the undo of one more edit, in the state in which the undos of the plan leave the files. Writes
    /// nothing. After an error, the plan is as before.
    pub fn plan_next_undo(
        &self,
        plan: &mut UndoPlan,
        id: &EditId,
        control: Control<'_>,
    ) -> Result<(), UndoError> {
        plan.add(self, id, self.options(control, true))
    }

    /// Makes the undos of a plan in one transaction, all or none. The history keeps each undo as a separate
    /// edit.
    pub fn make_undos(&self, plan: UndoPlan, control: Control<'_>) -> Result<Vec<Undone>, UndoError> {
        plan.carry_out(self, self.options(control, false))
    }

    fn take_back(&self, id: &EditId, control: Control<'_>, dry_run: bool) -> Result<Undone, UndoError> {
        undo(self, id, self.options(control, dry_run))
    }

    /// Replaces the roots of this workspace with the roots of past edits. A person can then undo the edits
    /// wherever their files are. No file in these roots is protected.
    ///
    /// Each root must be the same directory as at the time of the edit, and its path must not have a symbolic
    /// link: a link could lead to files that the edit never touched.
    pub fn serve_files_of<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Result<(), StoreError> {
        let mut roots = Vec::new();
        for entry in entries {
            self.add_roots_of(entry, &mut roots)?;
        }
        // A person is allowed to undo in .git, too.
        self.roots = Roots::open_as_they_were(&roots, Policy::unprotected())?;
        let roots: Vec<PathBuf> = roots.into_iter().map(|(root, _)| root).collect();
        self.in_place = std::mem::take(&mut self.in_place).from_roots(&roots);
        Ok(())
    }

    fn add_roots_of(
        &self,
        entry: &Entry,
        roots: &mut Vec<(PathBuf, DirectoryKey)>,
    ) -> Result<(), StoreError> {
        // If an entry gives the name of a file's root, this machine does not reach the file.
        if let Some(file) = entry.files.iter().find(|file| file.root.is_some()) {
            return Err(StoreError::new(Operation::Resolve, &file.path, StoreErrorKind::NotFound));
        }
        let keys = self.history.root_keys(&entry.id).map_err(|reason| {
            let source = Some(std::io::Error::other(reason.to_string()));
            let path = entry.files.first().map_or_else(PathBuf::new, |file| file.path.clone());
            StoreError { source, ..StoreError::new(Operation::OpenRoot, &path, StoreErrorKind::Io) }
        })?;
        for (index, file) in entry.files.iter().enumerate() {
            let parent = || file.path.parent().unwrap_or(&file.path).to_owned();
            let root = file.root_directory().unwrap_or_else(parent);
            let root = (root, keys.get(index).copied().unwrap_or_default());
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(())
    }

    /// Completes or rolls back the calls of processes that died. A process that is allowed to write must call
    /// this function when it starts. Failures are logged, and each edit first tries the recovery again.
    pub fn recover(&self) {
        recover(self);
    }

    /// Starts a thread that recovers, within about ten seconds, the calls that other machines have left
    /// unfinished in the shared database. A server that is allowed to write must call this function when it
    /// starts. The thread ends once this workspace is dropped. Without a shared database, starts no thread.
    /// Fails if the system cannot create a thread.
    pub fn recover_in_background(self: &Arc<Self>) -> std::io::Result<()> {
        if self.shared_journal().is_none() {
            return Ok(());
        }
        gate::begin(Arc::downgrade(self), gate::INTERVAL)
    }
}
