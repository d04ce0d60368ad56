//! Defines the request to edit one file, [`Edit`], and the options of a call, [`EditOptions`].
//!
//! Checks whether the files of past edits are in the roots.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{
    GuardedRange, LineEdit, MatchOptions as Matching, Patch, Position, TextReplacement,
};
use mcp_text_editor_core::shown_lines::ShownLines;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::roots::PathError;
use crate::cancellation::Cancellation;
use crate::error::ReadFault;
use crate::history::{Caller, Entry};
use crate::workspace::Workspace;

/// The request to edit one file: an entry of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// The file's path, as the client wrote it.
    pub file_path: &'a str,
    /// The label of the file's encoding, as the client wrote it.
    pub encoding: Option<&'a str>,
    /// The digest that the file must have, according to the client.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The new path, if the file is to be moved.
    pub move_to: Option<&'a str>,
    /// The directories that a past edit created to put the file where it is now, outermost first. If this
    /// request moves or removes the file, the directories that are then empty are removed, too.
    pub directories: &'a [PathBuf],
    /// The change.
    pub change: EditChange<'a>,
}

#[cfg(test)]
impl<'a> Edit<'a> {
    /// Returns an edit of a file that is not moved, without encoding and digest, so that only the guards in
    /// `change` apply.
    pub(crate) fn new(file_path: &'a str, change: EditChange<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, move_to: None, directories: &[], change }
    }
}

/// The change of a file. In texts, lines end with `\n`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EditChange<'a> {
    /// Keeps the file's content, which need not be text; the file is only moved.
    Keep {
        /// For an undo: the file's digest after the edit that is to be undone. If the file has another digest
        /// now, the call fails with [`ChangedSince`](crate::edit::Reason::ChangedSince).
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
    /// Replaces all matches.
    Replace(&'a dyn Replace),
    /// Restores the file's bytes before a past edit. They need not be text.
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
    /// Removes the file, which must be text, and must have the digest `file_hash`.
    Remove,
    /// Removes a file that a past edit created. It need not be text.
    UndoCreate {
        /// The digest that the undone edit left, as above.
        after: Option<Digest>,
    },
}

impl EditChange<'_> {
    /// Whether the file is created. No file may exist at its path yet.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Create(_) | Self::Recreate(_))
    }

    /// Whether the file is removed.
    pub(super) fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::UndoCreate { .. })
    }

    /// Whether the file keeps its bytes. If so, the file is allowed to be read-only.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Keep { .. })
    }
}

/// A search for the parts of a text that are to be replaced, and for their replacements.
pub(crate) trait Replace: fmt::Debug + Sync {
    /// Returns the maximum size in bytes of the files that it accepts.
    fn most_bytes(&self) -> u64;

    /// Finds the parts of a file's text that are to be replaced, and their replacements: at most `most`
    /// parts, with at most `most_bytes` bytes of new text. `text` is the text that a read returns. Returns
    /// `None` if the text, or a line of it, is too long.
    fn replace(
        &self,
        text: &str,
        most: u64,
        most_bytes: u64,
        cancellation: Cancellation<'_>,
    ) -> Result<Option<Replaced>, ReadFault>;
}

/// The parts of a file's text that are replaced.
#[derive(Clone, Default, Debug)]
pub(crate) struct Replaced {
    /// The parts, within the limits of the call.
    pub(crate) places: Vec<TextReplacement>,
    /// The number of all parts, also beyond the limits.
    pub(crate) count: u64,
    /// The number of bytes of new text. If it exceeds the limit, the call must be refused.
    pub(crate) bytes: u64,
}

/// A lookup, by a file's real path, of the lines that the client was shown.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a>(pub &'a dyn Fn(&Path) -> Option<ShownLines>);

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// A function that keeps the edits of a call in the history once the call is carried out.
#[derive(Clone, Copy)]
pub(crate) struct Remember<'a>(pub &'a dyn Fn());

impl fmt::Debug for Remember<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remember")
    }
}

/// The options of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditOptions<'a> {
    /// The caller, for the history.
    pub by: Caller<'a>,
    /// The past edit that this call undoes; `None` for any other call.
    pub undoes: Option<&'a Entry>,
    /// Keeps several edits in the history, instead of one for the whole call.
    pub remember: Option<Remember<'a>>,
    /// The rules by which text matches.
    pub matching: Matching,
    /// Whether to check everything and return the diff without writing anything.
    pub dry_run: bool,
    /// Whether to return the diff even if this is not a dry run.
    pub shows_diff: bool,
    /// The maximum number of bytes of text in the comparison of each file with its old content; `None` for no
    /// comparison.
    pub compared: Option<usize>,
    /// The lines that the client was shown; `None` if the server does not remember them.
    pub shown: Option<Memory<'a>>,
    /// The number of places that the call expects to be replaced in all files together; `None` for any
    /// number.
    pub expected: Option<u64>,
    /// The number of places that are replaced by pattern in the earlier files of the call.
    pub replaced: u64,
    /// A counter of the files that have been prepared so far.
    pub progress: Option<&'a AtomicU64>,
    /// Whether the client has cancelled the call. The last check is just before the first file is exchanged.
    pub cancellation: Cancellation<'a>,
}

/// Tells whether all files of an edit are in the roots: see [`is_path_in_roots`]. From a person, who is
/// served the roots of past edits, no edit is withheld.
#[must_use]
pub(crate) fn is_in_roots(workspace: &Workspace, entry: &Entry) -> bool {
    workspace.roots.are_past() || entry.files.iter().all(|file| is_path_in_roots(workspace, &file.path))
}

/// Tells whether a path is in the roots. Follows its symbolic links; if that fails, compares the text of the
/// paths.
pub(crate) fn is_path_in_roots(workspace: &Workspace, path: &Path) -> bool {
    match workspace.roots.place(path) {
        Ok(_) => true,
        Err(PathError::Outside { .. } | PathError::Unserved(_)) => false,
        Err(_) => workspace.roots.paths().any(|root| path.starts_with(root)),
    }
}
