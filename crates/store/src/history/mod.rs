//! The edits of the past, each as what turns it back: [`History`]. Carrying such an undo out is not done here.
//!
//! They are in an SQLite database, which any number of processes share. It is worth nothing to an edit but its undo, so
//! whatever is wrong with it is never an error of the edit, and what cannot be read is neither moved nor written over.

mod database;
mod format;
mod past;
mod record;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::patterns::Patterns;
use crate::access::place::Place;
use crate::access::policy::real_path;
use crate::state_dir::StateDir;
use database::Database;

pub use past::{Entry, EntryFile, Forgotten};

/// The name of the database in the state directory.
pub const FILE_NAME: &str = "history.db";

/// How much is kept, and of which files nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Files of which nothing is kept.
    pub excluded: Patterns,
    /// For how many days.
    pub days: u32,
    /// In how many bytes; the oldest edits go first.
    pub bytes: u64,
}

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
struct Kept {
    settings: Settings,
    database: Mutex<Database>,
}

impl Kept {
    fn database(&self) -> MutexGuard<'_, Database> {
        // What a panic left half done, SQLite has rolled back.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names an edit for as long as it is kept.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EditId(pub(crate) String);

impl EditId {
    /// Reads an id, in either case; `None` unless it is 12 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for EditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An edit that was made.
#[derive(Clone, Debug)]
pub struct NewEdit<'a> {
    /// The tool by which.
    pub tool: &'a str,
    /// The edit that this one takes back.
    pub undoes: Option<&'a EditId>,
    /// Its files; at least one.
    pub files: Vec<FileEdit>,
}

/// What an edit did to one file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileEdit {
    /// Its absolute path, without any symbolic link.
    pub path: PathBuf,
    /// The same path from its root on.
    pub relative: PathBuf,
    /// The encoding by which it was read.
    pub encoding: Encoding,
    /// The digest that it had; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest that it got; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// What turns it back.
    pub undo: Undo,
    /// What was changed, as a unified diff that may be cut.
    pub diff: String,
}

/// What turns a file back into what it was before an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undo {
    /// These splices of the new bytes.
    Splices(SpliceSet),
    /// The removal of a file that was created, and of the directories made for it, outermost first, if they are empty.
    Remove {
        /// The directories, absolute.
        directories: Vec<PathBuf>,
    },
    /// The creation of a file that was removed.
    Create {
        /// All that it held.
        contents: Vec<u8>,
    },
    /// Nothing does: these are the bytes of a file in whose place another program had put its own when an interrupted
    /// edit was cleared up. They are kept for a person to look at.
    Displaced {
        /// All that it held.
        contents: Vec<u8>,
    },
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Its content changed.
    Changed,
    /// It was created.
    Created,
    /// It was removed, since its creation was undone.
    Removed,
    /// Its bytes were kept when an interrupted edit was cleared up; see [`Undo::Displaced`].
    Displaced,
}

/// Why an edit is not kept, or cannot be looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotKept {
    /// There is to be no history.
    Off,
    /// One of its files may hold a secret.
    Secret,
    /// What it replaced is larger than the history may grow.
    TooLarge,
    /// The history cannot be written: it is read-only, broken, of a newer version, or the disk is full.
    Unavailable {
        /// In the words of the system or of the database.
        reason: String,
        /// What a person can do about it.
        remedy: Remedy,
    },
}

/// What helps where the history is not available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// To try again: another process was in the way, or the system.
    Retry,
    /// To [forget](History::forget) it all, since it is damaged.
    Forget,
    /// To move its file away: it is not this program's, or another version of it needs it.
    MoveAway,
    /// To have a state directory.
    StateDirectory,
}

impl History {
    /// The history in this state directory, which is opened when it is needed first.
    #[must_use]
    pub fn new(state: &StateDir, settings: Settings) -> Self {
        let database = Mutex::new(Database::new(state.path().join(FILE_NAME)));
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
        record::record(&mut kept.database(), &kept.settings, edit, false)
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
        record::record(&mut kept.database(), &kept.settings, &edit, true)
    }

    fn kept(&self) -> Result<&Kept, NotKept> {
        self.kept.as_ref().map_err(Clone::clone)
    }
}

/// The path by which an edit of this file is kept: without links, as far as it exists.
#[must_use]
pub fn path_in_history(path: &Path) -> PathBuf {
    real_path(path)
}

/// What stands for the tool where none was called.
pub const RECOVERY: &str = "recovery";

#[cfg(test)]
mod tests;
