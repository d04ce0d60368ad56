//! The result of a call: [`Outcome`].

use std::path::PathBuf;

use mcp_text_editor_core::diff::Comparison;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};
use mcp_text_editor_core::slip::ReportedSlip;

use crate::commit::in_place::InPlace;
use crate::history::{EditId, Entry, NotKept};
use crate::os::inode_flags::Lost;

/// The name that a diff gives to a file that does not exist, as in git.
pub(super) const NOTHING: &str = "/dev/null";

/// The result of a call.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The id by which it can be undone, if the history keeps it.
    pub edit_id: Option<EditId>,
    /// The edit as the history keeps it, if it does.
    pub entry: Option<Entry>,
    /// The files of the call, each once.
    pub files: Vec<Edited>,
}

/// One file of a call, after the call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Edited {
    /// The first entry of the call that names it.
    pub entry: usize,
    /// The file's fate.
    pub became: Became,
    /// The digest of its bytes; `None` for a file that a dry run would create, or that was removed.
    pub digest: Option<Digest>,
    /// The number of lines.
    pub total_lines: u64,
    /// The number of places that a replacement by pattern has replaced; 0 for another change.
    pub replaced: u64,
    /// The places of new text.
    pub regions: Vec<Region>,
    /// The changes that a dry run would make, as a unified diff.
    pub diff: Option<String>,
    /// Both states of a file whose content changes and what differs, if the call asks for it.
    pub comparison: Option<Box<Comparison>>,
    /// The facts that the client should know.
    pub warnings: Vec<Warning>,
    /// Its real path.
    pub path: PathBuf,
    /// The knowledge that its client has of its lines now; `None` if nothing is kept of that.
    pub shown: Option<ShownLines>,
}

/// The fate of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Became {
    /// It has new content, or would have.
    Edited,
    /// It is new, or would be.
    Created,
    /// It has another place, or would have. Its number of lines is not told, since it need not be text.
    Moved {
        /// The path that it had, as the call named it.
        from: String,
    },
    /// It is removed, or would be.
    Removed,
}

/// The facts that the client should know of an edit that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// The new bytes are the old ones: nothing was written.
    Unchanged,
    /// The last line had no terminator, and got one.
    FinalNewlineAdded,
    /// Another program has changed the file since it was last shown.
    ChangedByOthers(Changes),
    /// New text has a likely slip.
    Text(ReportedSlip),
    /// The file was written over instead of being replaced.
    EditedInPlace(InPlace),
    /// The file was replaced by a new one that could not get all of its flags.
    FlagsNotKept(Lost),
    /// The file system cannot exchange names: what another program wrote in the last instant is lost.
    NotExchanged,
    /// The file system has no locks: another process of this program could have written at the same time.
    NotLocked,
    /// There was no journal. A crash in the middle would have left some files new and some old, or one file
    /// half new.
    NoJournal,
    /// The edit cannot be undone.
    NotInHistory(NotKept),
    /// There is neither a journal nor a history, for this reason. Only the first edit warns of it.
    NoState(String),
    /// The edit was undone although later edits, which stay, changed the file elsewhere.
    BesideLaterEdits,
    /// The file is removed: the edit that was undone had created it.
    Removed,
    /// The file was copied to its new place, and removed from the old one.
    Copied(Copied),
    /// The file was edited and moved. So it is a new file, which lacks something that the old one had besides
    /// its bytes.
    Rewritten(Copied),
}

/// The losses of a file that was copied to its new place because it could not be renamed, or that was written
/// there because it was also edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Whether the copy could not get all of the owner, group, attributes, streams and flags.
    pub loses_metadata: bool,
    /// Whether the file has other names (hard links), which still lead to the old file.
    pub leaves_names: bool,
}

impl Copied {
    pub(super) fn lacks_something(self) -> bool {
        self.loses_metadata || self.leaves_names
    }
}
