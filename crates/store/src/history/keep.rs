//! The history of a process, and what it keeps: [`History`]. Looking edits up is in `lookup.rs`, forgetting them in `forget.rs`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;

use crate::access::place::Place;
#[cfg(not(feature = "history"))]
use crate::history::absent::database::{Database, record};
use crate::history::edit::{EditId, FileEdit, NewEdit, Undo};
use crate::history::not_kept::{NotKept, Remedy};
use crate::history::settings::Settings;
#[cfg(feature = "history")]
use crate::history::sqlite::{database::Database, record::record};
use crate::os::real_path::real_path;
use crate::state_dir::{HISTORY, StateDir};

/// The edits that were made through this server, kept in the state directory.
///
/// The default one keeps nothing. It may be used from several threads; they wait for each other.
#[derive(Debug)]
pub struct History {
    kept: Result<Kept, NotKept>,
}

impl Default for History {
    fn default() -> Self {
        Self { kept: Err(NotKept::Off) }
    }
}

/// Where edits are kept, and which.
#[derive(Debug)]
pub(super) struct Kept {
    settings: Settings,
    database: Mutex<Database>,
}

impl Kept {
    pub(super) fn database(&self) -> MutexGuard<'_, Database> {
        // What a panic left half done, SQLite has rolled back.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    /// The history in this state directory, which is opened when it is needed first.
    #[must_use]
    pub fn new(state: &StateDir, settings: Settings) -> Self {
        let database = Mutex::new(Database::new(state.path().join(HISTORY)));
        Self { kept: Ok(Kept { settings, database }) }
    }

    /// The history that is wanted, but has no state directory to be in.
    #[must_use]
    pub fn without_state(reason: String) -> Self {
        Self { kept: Err(NotKept::Unavailable { reason, remedy: Remedy::StateDirectory }) }
    }

    /// Whether edits of a file, given by its absolute path and by that from its root on, are kept at all.
    pub fn keeps(&self, path: &Path, relative: &Path) -> Result<(), NotKept> {
        let kept = self.kept()?;
        if kept.settings.excluded.matches(path, relative) { Err(NotKept::Secret) } else { Ok(()) }
    }

    /// Whether edits of a file are kept at all that was reached by these paths.
    pub(crate) fn keeps_place(&self, place: &Place) -> Result<(), NotKept> {
        place.names().try_for_each(|(path, relative)| self.keeps(path, relative))
    }

    /// Keeps an edit, once it is made. Whatever goes wrong, the edit stands.
    ///
    /// Waits for other processes for some seconds at most, and after it has waited in vain, much shorter until one time
    /// it was not. The oldest edits go where the bounds ask for it. It is not synced: the end of the machine may cost the
    /// last edits of the history, and nothing else.
    pub fn record(&self, edit: &NewEdit<'_>) -> Result<EditId, NotKept> {
        for file in &edit.files {
            self.keeps(&file.path, &file.relative)?;
        }
        let kept = self.kept()?;
        record(&mut kept.database(), &kept.settings, edit, false)
    }

    /// Keeps the bytes of a file in whose place another program had put its own when an interrupted edit was cleared up.
    /// They are listed as such an edit of their own, which nothing undoes, and bounded like all others. They are on disk when
    /// this returns: nothing else has them.
    pub fn keep_displaced(&self, path: &Path, relative: &Path, contents: &[u8]) -> Result<EditId, NotKept> {
        let file = FileEdit {
            path: path.to_owned(),
            relative: relative.to_owned(),
            encoding: Encoding::Utf8,
            before: Some(Digest::of(contents)),
            after: None,
            undo: Undo::Displaced { contents: contents.to_vec() },
            diff: String::new(),
        };
        self.keeps(path, relative)?;
        let (kept, edit) = (self.kept()?, NewEdit { tool: RECOVERY, undoes: None, files: vec![file] });
        record(&mut kept.database(), &kept.settings, &edit, true)
    }

    pub(super) fn kept(&self) -> Result<&Kept, NotKept> {
        self.kept.as_ref().map_err(Clone::clone)
    }
}

/// The path by which an edit of this file is kept: without links, as far as it exists.
#[must_use]
pub fn path_in_history(path: &Path) -> PathBuf {
    real_path(path)
}

/// What stands for the tool where none was called.
pub(crate) const RECOVERY: &str = "recovery";
