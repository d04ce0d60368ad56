//! The history of a process: [`History`], and keeping edits in it. `lookup.rs` looks edits up, `forget.rs` forgets them.

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
        // SQLite has rolled back what a panic interrupted.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    /// The history in this state directory. The database is opened when it is first needed.
    #[must_use]
    pub fn new(state: &StateDir, settings: Settings) -> Self {
        let database = Mutex::new(Database::new(state.path().join(HISTORY)));
        Self { kept: Ok(Kept { settings, database }) }
    }

    /// A history that was asked for and cannot be kept, since there is no state directory.
    #[must_use]
    pub fn without_state(reason: String) -> Self {
        Self { kept: Err(NotKept::Unavailable { reason, remedy: Remedy::StateDirectory }) }
    }

    /// Checks that edits of a file may be kept; the file is given by its absolute path and by that from its root on.
    pub fn keeps(&self, path: &Path, relative: &Path) -> Result<(), NotKept> {
        let kept = self.kept()?;
        if kept.settings.excluded.matches(path, relative) { Err(NotKept::Secret) } else { Ok(()) }
    }

    /// As [`History::keeps`], for the path of a place and for all links that led to it.
    pub(crate) fn keeps_place(&self, place: &Place) -> Result<(), NotKept> {
        place.names().try_for_each(|(path, relative)| self.keeps(path, relative))
    }

    /// Keeps an edit that was made. An error here changes nothing about the edit.
    ///
    /// Waits some seconds at most for other processes; after a wait in vain, much less, until an attempt succeeds. Drops the oldest
    /// edits where the bounds require it. Does not sync: a power cut can cost the last edits of the history, and nothing else.
    pub fn record(&self, edit: &NewEdit<'_>) -> Result<EditId, NotKept> {
        for file in &edit.files {
            self.keeps(&file.path, &file.relative)?;
        }
        let kept = self.kept()?;
        record(&mut kept.database(), &kept.settings, edit, false)
    }

    /// Keeps the bytes of a file that another program had replaced when recovery cleared up an interrupted edit. They are listed as
    /// an edit of their own, which cannot be undone, and are bounded like all others. They are on disk when this returns, since no
    /// other copy exists.
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

/// The tool's name in entries that recovery made.
pub(crate) const RECOVERY: &str = "recovery";
