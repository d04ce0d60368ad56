//! Undoes past edits, and recovers calls that a process left unfinished.

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::directory::DirectoryKey;
use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::door::control::Control;
use crate::edit::undo::{UndoError, Undone, undo};
use crate::edit::undo_plan::UndoPlan;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry};
use crate::recovery::{background, recover};
use crate::workspace::Workspace;

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

    /// Makes the undos of a plan in one transaction, all or none. In the history, each is an edit.
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
        background::begin(Arc::downgrade(self), background::INTERVAL)
    }
}
