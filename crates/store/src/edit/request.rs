//! The request to edit one file, and the options of its call: [`Edit`].

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, LineEdit, MatchOptions as Matching, Patch, Position};
use mcp_text_editor_core::shown_lines::ShownLines;
use mcp_text_editor_core::splice::SpliceSet;

use crate::cancellation::Cancellation;
use crate::history::{Caller, Entry};

/// The request for one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// The file, as the client named it.
    pub file_path: &'a str,
    /// Its encoding, as the client named it.
    pub encoding: Option<&'a str>,
    /// The digest that the file must have, according to the client.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The new path, if the file is to be moved.
    pub move_to: Option<&'a str>,
    /// The directories that a past edit created to put the file where it is now, outermost first. If the file
    /// leaves, those that are empty are removed, too.
    pub directories: &'a [PathBuf],
    /// The change.
    pub change: EditChange<'a>,
}

#[cfg(test)]
impl<'a> Edit<'a> {
    /// Returns an edit of a file that is not moved. It has no guard besides those in `change`.
    pub(crate) fn new(file_path: &'a str, change: EditChange<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, move_to: None, directories: &[], change }
    }
}

/// The change of a file. In texts, lines end with `\n`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EditChange<'a> {
    /// Moves the file and keeps its content, text or not.
    Keep {
        /// The digest of the content that the undone edit left. If the file has another, the call fails with
        /// [`ChangedSince`](crate::edit::Reason::ChangedSince).
        after: Option<Digest>,
    },
    /// Replaces text.
    Patch(&'a [Patch]),
    /// Adds lines at the end.
    Append(&'a str),
    /// Adds lines before or after a line.
    Insert(&'a str, Position),
    /// Deletes lines.
    Delete(&'a [GuardedRange]),
    /// Moves, copies, removes and adds whole lines.
    Rearrange(&'a [LineEdit<'a>]),
    /// Restores the bytes from before a past edit, text or not.
    Restore {
        /// The digest that the undone edit left, as above.
        after: Digest,
        /// The splices that restore the old bytes.
        splices: &'a SpliceSet,
    },
    /// Creates a file with exactly this text.
    Create(&'a str),
    /// Creates a file that a past edit removed, with the bytes that it had.
    Recreate(&'a [u8]),
    /// Removes the file. It must be text, and have the digest `file_hash`.
    Remove,
    /// Removes a file that a past edit created, text or not.
    UndoCreate {
        /// The digest that the undone edit left, as above.
        after: Option<Digest>,
    },
}

impl EditChange<'_> {
    /// Whether the file is created: none may exist under its path yet.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Create(_) | Self::Recreate(_))
    }

    /// Whether the file is removed.
    pub(super) fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::UndoCreate { .. })
    }

    /// Whether the file keeps its bytes. Then it may be read-only.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Keep { .. })
    }
}

/// A lookup, by a file's real path, of the lines that the client was shown.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a>(pub &'a dyn Fn(&Path) -> Option<ShownLines>);

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// The options of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditOptions<'a> {
    /// The caller, for the history.
    pub by: Caller<'a>,
    /// The edit that this one undoes.
    pub undoes: Option<&'a Entry>,
    /// The rules by which text matches.
    pub matching: Matching,
    /// Whether to check everything and return the diff, but write nothing.
    pub dry_run: bool,
    /// Whether to return the diff of an edit that is made, too.
    pub shows_diff: bool,
    /// The maximum bytes of text in the comparison of each file with its old content; `None` for no
    /// comparison.
    pub compared: Option<usize>,
    /// The lines that the client was shown; `None` if the server does not remember them.
    pub shown: Option<Memory<'a>>,
    /// Whether the client has cancelled the call. It is checked last just before the first file is exchanged.
    pub cancellation: Cancellation<'a>,
}
