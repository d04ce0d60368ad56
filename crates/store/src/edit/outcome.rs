//! The result of a call: [`Outcome`].

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::preview::{Indentation, SampleLine};
use mcp_text_editor_core::regions::Region;

use crate::commit::in_place::InPlace;
use crate::history::{EditId, NotKept};
use crate::os::inode_flags::Lost;

/// The name that a diff gives a file that is not there, as git does.
pub(super) const NOTHING: &str = "/dev/null";

/// The result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// By what it can be undone, if it is kept.
    pub edit_id: Option<EditId>,
    /// Its files, each once.
    pub files: Vec<Edited>,
}

/// One file of a call, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Edited {
    /// The first entry of the call that meant it.
    pub entry: usize,
    /// The file's fate.
    pub became: Became,
    /// The digest of its bytes; `None` for a file that a dry run would create, or that was removed.
    pub digest: Option<Digest>,
    /// The number of lines.
    pub total_lines: u64,
    /// The places of new text.
    pub regions: Vec<Region>,
    /// The changes that a dry run would make, as a unified diff.
    pub diff: Option<String>,
    /// The facts that the client should know.
    pub warnings: Vec<Warning>,
}

/// The fate of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Became {
    /// It has new content, or would have.
    Edited,
    /// It is new, or would be.
    Created,
    /// It has another place, or would have. How many lines it has is not told: it need not be text.
    Moved {
        /// The path where it was, as the call named it.
        from: String,
    },
    /// It is gone, or would be.
    Removed,
}

/// The facts that the client should know of an edit that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// The new bytes are the old ones: nothing was written.
    Unchanged,
    /// The last line had no terminator, and was given one.
    FinalNewlineAdded,
    /// New text that begins with blanks stands behind blanks of the file.
    Indentation(Indentation),
    /// New text that ends no line, in place of one that did: what followed comes on the same line.
    Joined(SampleLine),
    /// New text with a line that looks as if it stood for others, which the old text did not have.
    Omission(SampleLine),
    /// The file was written over instead of being replaced.
    EditedInPlace(InPlace),
    /// The file was replaced by one that could not be given all of its flags.
    FlagsNotKept(Lost),
    /// The file system cannot exchange names: what another program wrote in the last instant is lost.
    NotExchanged,
    /// The file system has no locks: another process of this server could have written at the same time.
    NotLocked,
    /// There was no journal, so that a crash in the middle would have left some files new and some old, or
    /// one half new.
    NoJournal,
    /// The edit cannot be undone.
    NotInHistory(NotKept),
    /// The file is gone, as it was before it was created.
    Removed,
    /// The file was copied to another file system, and removed from where it was.
    Copied(Copied),
    /// The file was edited and moved, so that it is another file, which lacks something of what it was
    /// besides its bytes.
    Rewritten(Copied),
}

/// The losses of a file that was copied because its new place is on another file system, or written there
/// because it was edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// True if the copy could not be given all of its owner, group, attributes, streams and flags.
    pub loses_metadata: bool,
    /// True if the file has other names (hard links), under which it stays where it was.
    pub leaves_names: bool,
}

impl Copied {
    pub(super) fn lacks_something(self) -> bool {
        self.loses_metadata || self.leaves_names
    }
}
