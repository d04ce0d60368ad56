//! The edits of the past, each as what turns it back: [`History`]. Carrying such an undo out is not done here.

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::splice::SpliceSet;

use crate::patterns::Patterns;
use crate::state::State;

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
#[derive(Debug, Default)]
pub struct History {}

/// Names an edit for as long as it is kept.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EditId(pub(crate) String);

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
}

/// Why an edit is not kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotKept {
    /// There is to be no history, or no state directory to hold it.
    Off,
    /// One of its files may hold a secret.
    Secret,
    /// What it replaced is larger than the history may grow.
    TooLarge,
    /// The history cannot be written: it is read-only, broken, of a newer version, or the disk is full.
    Unavailable {
        /// In the words of the system or of the database.
        reason: String,
    },
}

impl History {
    /// The history in this state directory, which is opened when it is needed first.
    #[must_use]
    pub fn new(_state: &State, _settings: Settings) -> Self {
        Self {}
    }

    /// Whether edits of a file, given by its absolute path and by that from its root on, are kept at all.
    pub fn keeps(&self, _path: &Path, _relative: &Path) -> Result<(), NotKept> {
        Err(NotKept::Off)
    }

    /// Keeps the bytes of a file that another program's write has displaced.
    pub fn keep_displaced(
        &self,
        _path: &Path,
        _relative: &Path,
        _contents: &[u8],
    ) -> Result<EditId, NotKept> {
        Err(NotKept::Off)
    }

    /// Keeps an edit, once it is made. Whatever goes wrong, the edit stands.
    pub fn record(&self, _edit: &NewEdit<'_>) -> Result<EditId, NotKept> {
        Err(NotKept::Off)
    }
}
