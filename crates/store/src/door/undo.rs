//! Taking a past edit back, and ending what was cut off.

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
    /// Takes an edit back, in all of its files or in none. Each must be what the edit left. That is an edit,
    /// too: undoing it is redo.
    pub fn undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, false)
    }

    /// Checks what [`Workspace::undo`] would, and shows what it would change. Writes nothing.
    pub fn plan_undo(&self, id: &EditId, control: Control<'_>) -> Result<Undone, UndoError> {
        self.take_back(id, control, true)
    }

    fn take_back(&self, id: &EditId, control: Control<'_>, dry_run: bool) -> Result<Undone, UndoError> {
        undo(self, id, self.options(control, dry_run))
    }

    /// Has this workspace serve the files of a past edit, wherever they are and whatever protects them: for a
    /// person who takes it back. Its other roots are gone thereafter.
    pub fn serve_files_of(&mut self, entry: &Entry, undos: &[Undo]) -> Result<(), StoreError> {
        // By its name here no file is meant.
        if let Some(file) = entry.files.iter().find(|file| file.root.is_some()) {
            return Err(StoreError::new(Operation::Resolve, &file.path, StoreErrorKind::NotFound));
        }
        let directories = parents(entry, undos);
        // A person may undo in .git, too.
        self.roots = Roots::open_with(&directories, Policy::unprotected())?;
        // Nobody knows here in which directories the edit was made: a pattern may begin at any.
        let above: Vec<PathBuf> =
            directories.iter().flat_map(|directory| directory.ancestors()).map(Path::to_owned).collect();
        self.in_place = std::mem::take(&mut self.in_place).from_roots(&above);
        Ok(())
    }

    /// Ends, or takes back, what processes that died have begun; due at the start of a process that may
    /// write. What fails is logged, and tried again before each edit.
    pub fn recover(&self) {
        recover(self);
    }

    /// Starts a thread that ends what other machines have left in the database, within some ten seconds, as
    /// long as this lives; due in a process that may write, and serves. Starts none where no database is
    /// shared. Fails if the system gives no thread.
    pub fn recover_in_background(self: &Arc<Self>) -> std::io::Result<()> {
        if self.shared_journal().is_none() {
            return Ok(());
        }
        background::begin(Arc::downgrade(self), background::EVERY)
    }
}

/// Returns the directories that hold an edit's files and what was made for them, or those above that are
/// there.
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
    // Outer ones first; one within another would be a root, and a root is not removed.
    parents.sort();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for parent in parents {
        if !outermost.iter().any(|outer| parent.starts_with(outer)) {
            outermost.push(parent);
        }
    }
    outermost
}
