//! Takes past edits back, and finishes calls that were cut off.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::door::control::Control;
use crate::edit::undo::{UndoError, Undone, undo};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry, Undo};
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
    pub fn serve_files_of(&mut self, entry: &Entry, undos: &[Undo]) -> Result<(), StoreError> {
        // Such a file is on another machine: its path here means no file.
        if let Some(file) = entry.files.iter().find(|file| file.root.is_some()) {
            return Err(StoreError::new(Operation::Resolve, &file.path, StoreErrorKind::NotFound));
        }
        let directories = parents(entry, undos);
        // A person may undo in .git, too.
        self.roots = Roots::open_with(&directories, Policy::unprotected())?;
        // It is not known here which roots the edit was made in. So a pattern may begin at any directory
        // above.
        let above: Vec<PathBuf> =
            directories.iter().flat_map(|directory| directory.ancestors()).map(Path::to_owned).collect();
        self.in_place = std::mem::take(&mut self.in_place).from_roots(&above);
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

/// Returns the directories that hold an edit's files, and those that hold the directories made for them. If
/// one does not exist, returns the nearest above it.
fn parents(entry: &Entry, undos: &[Undo]) -> Vec<PathBuf> {
    let made = undos.iter().filter_map(|undo| match undo {
        Undo::Remove { directories } => directories.first().map(PathBuf::as_path),
        _ => None,
    });
    let parent = |path: &Path| {
        let above = path.ancestors().skip(1);
        above.map(Path::to_owned).find(|directory| directory.is_dir())
    };
    let files = entry.files.iter().map(|file| file.path.as_path());
    let mut parents: Vec<PathBuf> = files.chain(made).filter_map(parent).collect();
    // Outer directories come first, and inner ones are dropped: an inner one would be a root, and a root
    // cannot be removed.
    parents.sort();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for parent in parents {
        if !outermost.iter().any(|outer| parent.starts_with(outer)) {
            outermost.push(parent);
        }
    }
    outermost
}
