//! The request of a call: [`Edit`].

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, MatchOptions as Matching, Patch, Position};
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
    /// The digest that the client remembers.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The new path, if the file is to be moved.
    pub move_to: Option<&'a str>,
    /// The directories that were made for it at its present place, outermost first. They are removed with it,
    /// if nothing else is in them.
    pub directories: &'a [PathBuf],
    /// The change.
    pub change: EditChange<'a>,
}

#[cfg(test)]
impl<'a> Edit<'a> {
    /// Makes an edit of a file that stays in its place. It has no guard besides those in `change`.
    pub(crate) fn new(file_path: &'a str, change: EditChange<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, move_to: None, directories: &[], change }
    }
}

/// The change of a file. Texts have `\n` for line ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EditChange<'a> {
    /// The content stays: the file only moves. It need not be text.
    Keep {
        /// The digest that a past edit left, which the file must have; otherwise the reason is
        /// [`ChangedSince`](crate::edit::Reason::ChangedSince).
        after: Option<Digest>,
    },
    /// Replacements.
    Patch(&'a [Patch]),
    /// New lines at the end.
    Append(&'a str),
    /// New lines before or after a line.
    Insert(&'a str, Position),
    /// Lines that are removed.
    Delete(&'a [GuardedRange]),
    /// The bytes that it had before a past edit. It need not be text.
    Restore {
        /// The digest that the edit left, as above.
        after: Digest,
        /// The splices that turn its bytes back.
        splices: &'a SpliceSet,
    },
    /// A new file with exactly this text.
    Create(&'a str),
    /// A file that a past edit removed, with the bytes that it held.
    Recreate(&'a [u8]),
    /// The file is removed. It must be text, and have the digest `file_hash`.
    Remove,
    /// A file that a past edit made is removed, text or not.
    Unmake {
        /// The digest that the edit left, as above.
        after: Option<Digest>,
    },
}

impl EditChange<'_> {
    /// Tells whether the file is created, so that none may exist yet.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Create(_) | Self::Recreate(_))
    }

    /// Tells whether the file is removed.
    pub(super) fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::Unmake { .. })
    }

    /// Tells whether the file keeps its bytes, so that it may be one that nobody may write to.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Keep { .. })
    }
}

/// Returns what a client was shown of the file of a real path.
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
    /// The edit that this one takes back.
    pub undoes: Option<&'a Entry>,
    /// The rules by which text matches.
    pub matching: Matching,
    /// True to check everything, write nothing, and return the diff.
    pub dry_run: bool,
    /// The most bytes of text by which each file is compared with what it was; `None` to compare none.
    pub compared: Option<usize>,
    /// Returns what the client was shown of a file, by its real path; `None` where that is not kept.
    pub shown: Option<Memory<'a>>,
    /// Tells whether the client has cancelled the call. It is checked until the moment before the first file
    /// is exchanged.
    pub cancellation: Cancellation<'a>,
}
