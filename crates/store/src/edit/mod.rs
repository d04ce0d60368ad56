//! A whole call that edits files: all of it or nothing. Lock, read, resolve, write beside, exchange; a lost race starts
//! again from the read.

mod attempt;
pub mod create;
mod diff;
pub mod undo;

use std::io;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::rejection::Rejection;
use mcp_text_editor_core::resolve::{GuardedRange, Options as Matching, Patch, Position};
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::roots::PathError;
use crate::commit::overwrite::InPlace;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, NotKept};
use crate::lock::{Backoff, LockTimeout};
use crate::os::inode_flags::Lost;
use crate::read::document::{MAX_ATTEMPTS, NotText};
use crate::workspace::Workspace;
use attempt::{NamedFile, attempt};

/// What a call asks of one file.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
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
pub enum Change<'a> {
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
        /// The digest that the edit left; a file that has another is [`Reason::ChangedSince`].
        after: Digest,
        /// What turns its bytes back.
        splices: &'a SpliceSet,
    },
}

/// How a call is to be carried out.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The tool's name, for the history.
    pub tool: &'a str,
    /// The edit that this one takes back.
    pub undoes: Option<&'a EditId>,
    /// How strictly to match.
    pub matching: Matching,
    /// Check everything, write nothing, and show the difference.
    pub dry_run: bool,
    /// Whether the client has withdrawn the call: asked up to the moment before the first file is exchanged.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// What a call has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// By what it can be undone, if it is kept.
    pub edit_id: Option<EditId>,
    /// Its files, each once.
    pub files: Vec<Edited>,
}

/// One file of a call, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edited {
    /// The first entry of the call that meant it.
    pub entry: usize,
    /// The digest of its bytes; `None` for a file that a dry run would create.
    pub digest: Option<Digest>,
    /// How many lines it has.
    pub total_lines: u64,
    /// Where new text stands.
    pub regions: Vec<Region>,
    /// What a dry run would change, as a unified diff.
    pub diff: Option<String>,
    /// What the client should know.
    pub warnings: Vec<Warning>,
}

/// What the client should know of an edit that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// The new bytes are the old ones: nothing was written.
    Unchanged,
    /// The last line had no terminator, and was given one.
    FinalNewlineAdded,
    /// The file was written over instead of being replaced.
    EditedInPlace(InPlace),
    /// The file was replaced by one that could not be given all of its flags.
    FlagsNotKept(Lost),
    /// The file system cannot exchange names: what another program wrote in the last instant is lost.
    NotExchanged,
    /// The file system has no locks: another process of this server could have written at the same time.
    NotLocked,
    /// There was no journal, so that a crash in the middle would have left some files new and some old, or one half new.
    NoJournal,
    /// The edit cannot be undone.
    NotInHistory(NotKept),
    /// The file is gone, as it was before it was created.
    Removed,
}

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

/// Edits all files of a call, or none; every reason against it is found before it is refused.
pub fn edit(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: Options<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let mut refusals = Vec::new();
    let mut named = Vec::new();
    let roots = workspace.roots.for_writing();
    for (entry, edit) in edits.iter().enumerate() {
        let label = match edit.encoding.map(Label::parse) {
            Some(None) => {
                refusals.push(EditProblem { entry, reason: Reason::UnknownEncoding });
                None
            }
            Some(Some(label)) => Some(label.encoding),
            None => None,
        };
        match roots.resolve(edit.file_path) {
            Ok(place) => {
                let is_asked =
                    place.names().any(|(path, relative)| workspace.in_place.matches(path, relative));
                let in_place = is_asked.then_some(InPlace::Asked);
                named.push(NamedFile { entry, edit: *edit, place, label, in_place });
            }
            Err(problems) => {
                let reasons = problems.into_iter().map(Reason::Path);
                refusals.extend(reasons.map(|reason| EditProblem { entry, reason }));
            }
        }
    }
    let wait = LockTimeout { is_cancelled: options.is_cancelled, ..LockTimeout::default() };
    let (mut attempts, mut backoff) = (0, Backoff::new(&wait));
    while attempts < MAX_ATTEMPTS {
        let since = workspace.deferred_close.now();
        let mut found = Vec::new();
        let outcome = attempt(workspace, &mut named, &mut found, refusals.is_empty(), options, &mut backoff);
        match outcome {
            // Not an attempt against others: as long as there is more room than before, it goes on.
            Err((_, error)) if workspace.deferred_close.makes_room(since, &error) => continue,
            Err((_, StoreError { kind: StoreErrorKind::Changed, .. })) => {
                attempts += 1;
                continue;
            }
            Err((entry, error)) if overwrite_next(&mut named, entry, cannot_be_renamed(&error)) => {
                attempts += 1;
                continue;
            }
            Err((entry, error)) => refusals.push(EditProblem { entry, reason: Reason::Store(error) }),
            Ok(outcome) if refusals.is_empty() && found.is_empty() => return Ok(outcome),
            Ok(_) => refusals.append(&mut found),
        }
        refusals.sort_by_key(|refusal| refusal.entry);
        return Err(refusals);
    }
    let entry = named.first().map_or(0, |file| file.entry);
    let path = named.first().map(|file| file.place.path().to_owned()).unwrap_or_default();
    let error = StoreError::new(Operation::Replace, &path, StoreErrorKind::Changed);
    refusals.push(EditProblem { entry, reason: Reason::Store(error) });
    Err(refusals)
}

/// Why the name cannot be given to another file, if that is what an error says: something is mounted there that was not
/// known to be, or the file system has reasons of its own.
fn cannot_be_renamed(error: &StoreError) -> Option<InPlace> {
    let kind = error.source.as_ref().map(io::Error::kind);
    match kind.filter(|_| error.operation == Operation::Replace)? {
        io::ErrorKind::ResourceBusy => Some(InPlace::Mounted),
        io::ErrorKind::CrossesDevices => Some(InPlace::NameWithheld),
        _ => None,
    }
}

/// Has the file of an entry written over in the next attempt, if there is a reason; `false` if it was already.
fn overwrite_next(named: &mut [NamedFile<'_>], entry: usize, why: Option<InPlace>) -> bool {
    let file = named.iter_mut().find(|file| file.entry == entry);
    why.is_some_and(|why| file.is_some_and(|file| file.in_place.replace(why).is_none()))
}
