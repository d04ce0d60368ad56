//! The request of a call: [`Edit`].

use std::path::PathBuf;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, MatchOptions as Matching, Patch, Position};
use mcp_text_editor_core::splice::SpliceSet;

use crate::cancellation::Cancellation;
use crate::history::{Caller, EditId};

/// The request for one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// The file, as the client named it.
    pub file_path: &'a str,
    /// Its encoding, in the client's word.
    pub encoding: Option<&'a str>,
    /// The digest that the client remembers.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The new path, if it is to have another place.
    pub move_to: Option<&'a str>,
    /// The directories that were made for it where it is, outermost first; they go with it, as far as nothing
    /// else is in them.
    pub directories: &'a [PathBuf],
    /// The change.
    pub change: EditChange<'a>,
}

#[cfg(test)]
impl<'a> Edit<'a> {
    /// Makes an edit of a file that stays where it is, without a guard but what `change` holds.
    pub(crate) fn new(file_path: &'a str, change: EditChange<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, move_to: None, directories: &[], change }
    }
}

/// The change of a file. Texts have `\n` for line ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EditChange<'a> {
    /// Nothing: it moves. It need not be text.
    Keep {
        /// The digest that it must have, if a past edit has left it; else it is
        /// [`ChangedSince`](crate::edit::Reason::ChangedSince).
        after: Option<Digest>,
    },
    /// Replacements.
    Patch(&'a [Patch]),
    /// New lines at the end.
    Append(&'a str),
    /// New lines before or after one.
    Insert(&'a str, Position),
    /// Lines that go.
    Delete(&'a [GuardedRange]),
    /// The bytes that it had before a past edit. It need not be text.
    Restore {
        /// The digest that the edit left, as above.
        after: Digest,
        /// The splices that turn its bytes back.
        splices: &'a SpliceSet,
    },
    /// A new file of this text, line ends and all.
    Create(&'a str),
    /// A file that a past edit removed, with all that it held.
    Recreate(&'a [u8]),
    /// It goes. It must be text, and `file_hash` is asked for.
    Remove,
    /// A file that a past edit made goes, whatever it holds.
    Unmake {
        /// The digest that the edit left, as above.
        after: Option<Digest>,
    },
}

impl EditChange<'_> {
    /// Tells whether there is to be no file yet.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Create(_) | Self::Recreate(_))
    }

    /// Tells whether the file goes.
    pub(super) fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::Unmake { .. })
    }

    /// Tells whether the file keeps its bytes, and may be one that nobody may write to.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Keep { .. })
    }
}

/// The options of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditOptions<'a> {
    /// The caller, for the history.
    pub by: Caller<'a>,
    /// The edit that this one takes back.
    pub undoes: Option<&'a EditId>,
    /// The rules by which text matches.
    pub matching: Matching,
    /// Check everything, write nothing, and show the difference.
    pub dry_run: bool,
    /// The withdrawal of the call by its client: asked up to the moment before the first file is exchanged.
    pub cancellation: Cancellation<'a>,
}
