//! A past edit as it is looked up: [`Entry`].

use std::path::PathBuf;
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;

use crate::history::edit::{ChangeKind, EditId};

/// A past edit.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its name.
    pub id: EditId,
    /// The time when it was made.
    pub time: SystemTime,
    /// The tool that made it.
    pub tool: String,
    /// The client that called the tool, as it calls itself; `None` for the command line, and for what older
    /// versions kept.
    pub client: Option<String>,
    /// A text that the edits of one session have in common; `None` where there are no sessions.
    pub session: Option<String>,
    /// The edit that it undid, if any.
    pub undoes: Option<EditId>,
    /// The last edit that undid it, if that is kept.
    pub undone_by: Option<EditId>,
    /// Its files, in the order of the call.
    pub files: Vec<EntryFile>,
}

impl Entry {
    /// Tells whether it can be taken back, as far as the history knows: no other edit has undone it, and it
    /// is no content that recovery put aside.
    #[must_use]
    pub fn is_undoable(&self) -> bool {
        self.undone_by.is_none() && self.files.iter().all(|file| file.kind != ChangeKind::Displaced)
    }

    /// Returns the two places of a file that was moved and nothing else, the old one first; `None` for any
    /// other edit.
    #[must_use]
    pub fn moved(&self) -> Option<(&EntryFile, &EntryFile)> {
        if self.files.len() == 2 { self.moved_at(0) } else { None }
    }

    /// Returns the two places of a file that was moved, of which the old one is at this index; `None` for any
    /// other file. One that was changed, too, comes once more behind them.
    ///
    /// A move is kept as a removal and a creation of what was neither before, which both have one diff.
    #[must_use]
    pub fn moved_at(&self, index: usize) -> Option<(&EntryFile, &EntryFile)> {
        let (from, to) = (self.files.get(index)?, self.files.get(index + 1)?);
        let is_move = from.kind == ChangeKind::Removed
            && to.kind == ChangeKind::Created
            && from.before == to.after
            && from.diff == to.diff;
        is_move.then_some((from, to))
    }
}

/// The change of one file by a past edit.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct EntryFile {
    /// The name of its root, where several machines share a history and this one does not reach the file; it
    /// is not undone here then.
    pub root: Option<String>,
    /// The absolute path that it had, without any symbolic link; of a file that this machine does not reach,
    /// its root's name and the path from there on.
    pub path: PathBuf,
    /// The same path from its root on.
    pub relative: PathBuf,
    /// The encoding in which it was read.
    pub encoding: Encoding,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The digest that it had; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest that it got; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// The change, as a unified diff that may be cut.
    pub diff: String,
}

/// The result of forgetting.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Forgotten {
    /// The number of edits; `None` if the database was removed unread, since it is damaged.
    pub edits: Option<u64>,
    /// The reason why their bytes may still be on disk: another process is reading the database, or the disk
    /// is full.
    pub remains: Option<String>,
}
