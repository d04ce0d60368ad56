//! What a call asks of its files: [`Edit`].

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, Options as Matching, Patch, Position};
use mcp_text_editor_core::splice::SpliceSet;

use crate::cancellation::Cancellation;
use crate::history::EditId;

/// What a call asks of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// The file, as the client named it.
    pub file_path: &'a str,
    /// Its encoding, in the client's word.
    pub encoding: Option<&'a str>,
    /// What the client remembers of it.
    pub file_hash: Option<&'a DigestPrefix>,
    /// What is to be done.
    pub change: Change<'a>,
}

/// What is to be done to a file. Texts have `\n` for line ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
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
        /// The digest that the edit left; a file that has another is [`ChangedSince`](crate::edit::Reason::ChangedSince).
        after: Digest,
        /// What turns its bytes back.
        splices: &'a SpliceSet,
    },
}

/// How a call is to be carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    /// The tool's name, for the history.
    pub tool: &'a str,
    /// The edit that this one takes back.
    pub undoes: Option<&'a EditId>,
    /// How strictly to match.
    pub matching: Matching,
    /// Check everything, write nothing, and show the difference.
    pub dry_run: bool,
    /// Whether the client has withdrawn the call: asked up to the moment before the first file is exchanged.
    pub cancellation: Cancellation<'a>,
}
