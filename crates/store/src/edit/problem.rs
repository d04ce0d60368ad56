//! Why a call is refused: [`EditProblem`].

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::rejection::Rejection;

use crate::access::roots::PathError;
use crate::error::{StoreError, StoreErrorKind};
use crate::read::document::NotText;

/// One reason why a call is refused.
#[derive(Debug)]
pub struct EditProblem {
    /// The entry of the call that it concerns.
    pub entry: usize,
    /// The reason.
    pub reason: Reason,
}

impl EditProblem {
    /// Whether some of the call's files may have changed all the same.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        matches!(&self.reason, Reason::Store(error) if matches!(error.kind, StoreErrorKind::NotRestored { .. }))
    }
}

/// Why a call is refused.
#[derive(Debug)]
pub enum Reason {
    /// The path does not name a file that may be edited.
    Path(PathError),
    /// No encoding has the label that was given.
    UnknownEncoding,
    /// The operating system refused.
    Store(StoreError),
    /// The file is no text.
    NotText(NotText),
    /// The file is larger than an edit may rewrite, or would become so.
    TooLarge {
        /// How many bytes it has, or would have.
        bytes: u64,
        /// Whether the edit would make it so.
        becomes: bool,
    },
    /// Two entries mean one file and contradict each other.
    Differs(Differing),
    /// The file is not what the past edit left that is to be undone.
    ChangedSince {
        /// Its digest; `None` if there is none.
        digest: Option<Digest>,
    },
    /// The request does not fit the file.
    Rejected {
        /// In what.
        rejection: Rejection,
        /// The digest that the file has; `None` for one that was to be created.
        digest: Option<Digest>,
        /// How many lines it has.
        total_lines: u64,
    },
}

/// In what two entries that mean one file differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Differing {
    /// In the encoding.
    Encoding {
        /// The entry that named the file first.
        first: usize,
    },
    /// In the file's digest.
    FileHash {
        /// The entry that named the file first.
        first: usize,
    },
}
