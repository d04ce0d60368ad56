//! Defines the result of a call: [`Outcome`].
//!
//! Defines the reasons why a call is refused: [`EditProblem`].

use std::path::PathBuf;

use mcp_text_editor_core::diff::Comparison;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::rejection::Rejection;
use mcp_text_editor_core::rejection::ReportedSlip;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};

use crate::access::roots::PathError;
use crate::commit::in_place::InPlace;
use crate::edit::existing::Existing;
use crate::error::StoreError;
use crate::history::{EditId, Entry, NotKept};
use crate::os::inode_flags::Lost;
use crate::read::document::NotText;

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

/// One reason why a call is refused.
#[derive(Debug, thiserror::Error)]
#[error("entry {entry}: {reason}")]
pub struct EditProblem {
    /// The index of the call's entry that the reason concerns.
    pub entry: usize,
    /// The reason.
    pub reason: Reason,
}

impl EditProblem {
    /// Tells whether the failed call may have changed anything on disk.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        self.reason.may_have_written()
    }
}

/// The reason why a call is refused.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The path does not name a file that may be read or edited.
    #[error(transparent)]
    Path(PathError),
    /// No encoding has the given label.
    #[error("no encoding has that label")]
    UnknownEncoding,
    /// The operating system refused an operation.
    #[error(transparent)]
    Store(StoreError),
    /// The file is not text.
    #[error(transparent)]
    NotText(NotText),
    /// The name of the file that is to be created is taken.
    #[error("there is something of that name already")]
    Exists(Box<Existing>),
    /// The path names a symbolic link. A file cannot be moved or removed through a link to it.
    #[error("it is a symbolic link to {}", target.display())]
    IsALink {
        /// The real path to which the link leads.
        target: PathBuf,
    },
    /// The new place of the file is taken.
    #[error("there is something of that name already")]
    Taken {
        /// The file that is there.
        by: Box<Existing>,
        /// If the new place is a directory, the path that the file would have in that directory; otherwise
        /// `None`.
        inside: Option<PathBuf>,
    },
    /// A reason that concerns the new place of the file.
    #[error("{0}")]
    OfTarget(Box<Self>),
    /// The file is larger than the limit for an edit, or the edit would make it larger than the limit.
    #[error("the file {} {bytes} bytes, more than an edit may rewrite", if *becomes { "would have" } else { "has" })]
    TooLarge {
        /// The size of the file in bytes: its present size or, if `becomes`, its size after the edit.
        bytes: u64,
        /// Whether the file is within the limit now, and would exceed it after the edit.
        becomes: bool,
    },
    /// Two entries for the same file contradict each other.
    #[error("two entries mean one file and contradict each other")]
    Differs(Differing),
    /// The file does not have the content that the edit that is to be undone left.
    #[error("the file has changed since that edit")]
    ChangedSince {
        /// The file's present digest; `None` if there is none.
        digest: Option<Digest>,
    },
    /// The pattern cannot be applied, because the file, or a line of it, is too long.
    #[error("the file, or a line of it, is too long for the pattern")]
    TooLong,
    /// The number of places that would be replaced differs from the number that the call expects.
    #[error("{places} places of {files} files would be replaced, not {expected}")]
    Count {
        /// The number that the call expects.
        expected: u64,
        /// The number of places that would be replaced.
        places: u64,
        /// The number of files that have these places.
        files: usize,
    },
    /// The request does not fit the file.
    #[error("{rejection}")]
    Rejected {
        /// The reason why it does not fit.
        rejection: Rejection,
        /// The file's digest; `None` for a file that was to be created.
        digest: Option<Digest>,
        /// The number of lines.
        total_lines: u64,
    },
}

impl Reason {
    fn may_have_written(&self) -> bool {
        match self {
            Self::Store(error) => !error.left.is_empty(),
            Self::OfTarget(reason) => reason.may_have_written(),
            _ => false,
        }
    }

    /// Returns the reasons as one line of text, separated by semicolons.
    pub(crate) fn listed<'a>(reasons: impl IntoIterator<Item = &'a Self>) -> String {
        reasons.into_iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// The kind of contradiction between two entries for one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Differing {
    /// The encodings differ.
    Encoding {
        /// The entry that named the file first.
        first: usize,
    },
    /// The file's digests differ.
    FileHash {
        /// The entry that named the file first.
        first: usize,
    },
    /// The changes of the entries cannot be combined. Only entries that patch a file without moving it can be
    /// combined.
    Fate {
        /// The entry that named the file first.
        first: usize,
    },
    /// The entries are for different files, but both files would have the same name after the call.
    Result {
        /// The first entry whose file gets the name.
        first: usize,
        /// The name, as an absolute path.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{LeftBehind, Operation, Remains, StoreErrorKind};

    #[test]
    fn whether_the_disk_may_differ_is_told_of_either_path() {
        let path = PathBuf::from("/a");
        let error = || StoreError::new(Operation::Replace, &path, StoreErrorKind::NotRestored);
        let left = || error().leaving([LeftBehind::new(&path, Remains::Changed)]);
        let of_target = |reason| Reason::OfTarget(Box::new(reason));
        for (reason, may_differ) in [
            (Reason::UnknownEncoding, false),
            (Reason::Store(error()), false),
            (Reason::Store(left()), true),
            (of_target(Reason::Store(error())), false),
            (of_target(Reason::Store(left())), true),
        ] {
            let problem = EditProblem { entry: 0, reason };
            assert_eq!(problem.may_have_written(), may_differ, "{problem:?}");
        }
    }
}
