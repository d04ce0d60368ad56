//! Defines the result of a call: [`Outcome`].

use std::path::PathBuf;

use mcp_text_editor_core::diff::Comparison;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};
use mcp_text_editor_core::slip::ReportedSlip;

use crate::commit::in_place::InPlace;
use crate::history::{EditId, Entry, NotKept};
use crate::os::inode_flags::Lost;

/// The name that a diff, as in git, shows for a file that does not exist.
pub(super) const NOTHING: &str = "/dev/null";

/// The result of a call.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The id with which the edit can be undone; `None` if the history does not keep the edit.
    pub edit_id: Option<EditId>,
    /// The edit's entry in the history; `None` if the history does not keep the edit.
    pub entry: Option<Entry>,
    /// The files of the call, each once.
    pub files: Vec<Edited>,
}

/// The result for one file of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Edited {
    /// The index of the first entry of the call that names the file.
    pub entry: usize,
    /// The kind of change.
    pub became: Became,
    /// The digest of the file's new bytes; `None` for a file that a dry run would create, or that was
    /// removed.
    pub digest: Option<Digest>,
    /// The number of lines.
    pub total_lines: u64,
    /// The number of places that a replacement by pattern has replaced; 0 for other changes.
    pub replaced: u64,
    /// The regions of lines that changed.
    pub regions: Vec<Region>,
    /// The changes that a dry run would make, as a unified diff.
    pub diff: Option<String>,
    /// The old and the new state of a file whose content changes, and their differences, if the call asks for
    /// them.
    pub comparison: Option<Box<Comparison>>,
    /// Facts that the client should know.
    pub warnings: Vec<Warning>,
    /// The file's real path.
    pub path: PathBuf,
    /// The lines of the file that the client knows now; `None` if the server does not remember them.
    pub shown: Option<ShownLines>,
}

/// The kind of change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Became {
    /// It has new content or, in a dry run, would have. In a dry run, the other kinds, too, say what would
    /// happen.
    Edited,
    /// It was created.
    Created,
    /// It was moved. Its number of lines is not reported, because a moved file need not be text.
    Moved {
        /// The path that it had, as the call named it.
        from: String,
    },
    /// It was removed.
    Removed,
}

/// A fact that the client should know about an edit that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// The new bytes equal the old ones, so nothing was written.
    Unchanged,
    /// The file's last line had no terminator, and got one.
    FinalNewlineAdded,
    /// Another program has changed the file since it was last shown.
    ChangedByOthers(Changes),
    /// New text has a likely slip.
    Text(ReportedSlip),
    /// The file was overwritten in place, instead of being replaced by a new file.
    EditedInPlace(InPlace),
    /// The file was replaced by a new file that could not get all flags of the old file.
    FlagsNotKept(Lost),
    /// The file system cannot exchange two names atomically. If another program wrote to the file just before
    /// the rename, those bytes are lost.
    NotExchanged,
    /// The file system has no locks: another process of this program could have written at the same time.
    NotLocked,
    /// The call was not recorded in a journal. A crash during the commit would have left some files new and
    /// some old, or one file partly new.
    NoJournal,
    /// The edit cannot be undone.
    NotInHistory(NotKept),
    /// There is neither a journal nor a history; the field is the reason. Only the first edit has this
    /// warning.
    NoState(String),
    /// The edit was undone although later edits changed other places of the file. The later edits stay in
    /// effect.
    BesideLaterEdits,
    /// The undo removed the file, because the undone edit had created it.
    Removed,
    /// The file was copied to its new place, and removed from the old one.
    Copied(Copied),
    /// The file was edited and moved, so the file at the new place is a new one. It lacks some metadata or
    /// other names of the old file.
    Rewritten(Copied),
}

/// The losses of a file that was copied to its new place because it could not be renamed, or that was written
/// there because it was also edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Whether the copy lacks some of the owner, group, attributes, streams and flags.
    pub loses_metadata: bool,
    /// Whether the old file has other names (hard links), which still lead to it.
    pub leaves_names: bool,
}

impl Copied {
    pub(super) fn lacks_something(self) -> bool {
        self.loses_metadata || self.leaves_names
    }
}
