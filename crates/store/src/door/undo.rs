//! Takes past edits back, and finishes calls that were cut off.

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::directory::DirectoryKey;
use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::door::control::Control;
use crate::edit::undo::{UndoError, Undone, undo};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry};
use crate::recovery::{background, recover};
use crate::workspace::Workspace;

impl Workspace {
    /// Takes an edit back, in all of its files or in none. Each file must hold what the edit left. This is an
    /// edit, too: undoing it is a redo.
    pub fn undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, false)
    }

    /// Checks everything that [`Workspace::undo`] would check, and shows what it would change. Writes
    /// nothing.
    pub fn plan_undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, true)
    }

    fn take_back(&self, id: &EditId, control: Control<'_>, dry_run: bool) -> Result<Undone, UndoError> {
        undo(self, id, self.options(control, dry_run))
    }

    /// Makes this workspace serve the files of a past edit, wherever they are and whatever protects them.
    /// This is for a person who takes the edit back. The workspace loses its other roots.
    ///
    /// The roots are those in which the edit was made. Each must be the same directory as then, and no link
    /// may lead to it: a link could lead to files that were never the edit's.
    pub fn serve_files_of(&mut self, entry: &Entry) -> Result<(), StoreError> {
        // Such a file is on another machine: its path here means no file.
        if let Some(file) = entry.files.iter().find(|file| file.root.is_some()) {
            return Err(StoreError::new(Operation::Resolve, &file.path, StoreErrorKind::NotFound));
        }
        let keys = self.history.root_keys(&entry.id).map_err(|reason| {
            let source = Some(std::io::Error::other(reason.to_string()));
            let path = entry.files.first().map_or_else(PathBuf::new, |file| file.path.clone());
            StoreError { source, ..StoreError::new(Operation::OpenRoot, &path, StoreErrorKind::Io) }
        })?;
        let mut roots: Vec<(PathBuf, DirectoryKey)> = Vec::new();
        for (index, file) in entry.files.iter().enumerate() {
            let parent = || file.path.parent().unwrap_or(&file.path).to_owned();
            let root = file.root_directory().unwrap_or_else(parent);
            if !roots.iter().any(|(known, _)| *known == root) {
                roots.push((root, keys.get(index).copied().unwrap_or_default()));
            }
        }
        // A person may undo in .git, too.
        self.roots = Roots::open_as_they_were(&roots, Policy::unprotected())?;
        let roots: Vec<PathBuf> = roots.into_iter().map(|(root, _)| root).collect();
        self.in_place = std::mem::take(&mut self.in_place).from_roots(&roots);
        Ok(())
    }

    /// Finishes, or takes back, the calls of processes that died. A process that may write calls this at its
    /// start. Failures are logged, and tried again before each edit.
    pub fn recover(&self) {
        recover(self);
    }

    /// Starts a thread that finishes, within about ten seconds, the calls that other machines have left in
    /// the database. It runs as long as this workspace lives. A process that serves and may write calls this.
    /// Without a shared database, no thread is started. Fails if the system gives no thread.
    pub fn recover_in_background(self: &Arc<Self>) -> std::io::Result<()> {
        if self.shared_journal().is_none() {
            return Ok(());
        }
        background::begin(Arc::downgrade(self), background::EVERY)
    }
}
