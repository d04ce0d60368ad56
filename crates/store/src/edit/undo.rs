//! Taking a past edit back, in all of its files or in none. This is an edit like any other, so undoing it is redo.
//!
//! So it is carried out as if a client had asked for it, but for what each file must hold: what the edit left.

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::place::WritablePlace;
use crate::access::roots::PathError;
use crate::edit::call::edit;
use crate::edit::create::Making;
use crate::edit::move_file::{End, Relocation};
use crate::edit::outcome::Outcome;
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::remove_file::{Expected, Removing};
use crate::edit::request::{Change, Edit, Options};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry, NotKept, Remedy, Undo};
use crate::workspace::Workspace;

/// An edit that was taken back.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undone {
    /// The edit.
    pub entry: Entry,
    /// What was done; its entries are the files of the edit.
    pub outcome: Outcome,
}

/// Why an edit is not taken back. Nothing is changed then, but for what [`EditProblem::may_have_written`].
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// No such edit is kept, or one of its files lies outside the roots.
    #[error("no such edit is kept")]
    Unknown,
    /// The history cannot be read.
    #[error("the history cannot be read: {0}")]
    History(NotKept),
    /// It was no edit: bytes that recovery kept are not put back.
    #[error("it is no edit, but what an interrupted one had displaced")]
    Displaced(Box<Entry>),
    /// A file stands against it.
    #[error("{0}")]
    Problems(Box<UndoProblems>),
}

/// What stands against taking an edit back.
#[derive(Debug)]
pub struct UndoProblems {
    /// The edit.
    pub entry: Entry,
    /// Files that have changed since.
    pub conflicts: Vec<Conflict>,
    /// All else, by file of the edit.
    pub problems: Vec<EditProblem>,
}

impl fmt::Display for UndoProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = self.conflicts.len();
        let others = Reason::listed(self.problems.iter().map(|problem| &problem.reason));
        match (changed, others.is_empty()) {
            (0, _) => f.write_str(&others),
            (_, true) => write!(f, "{changed} of its files have changed since"),
            _ => write!(f, "{changed} of its files have changed since; {others}"),
        }
    }
}

/// A file that is not what the edit left.
#[derive(Debug)]
pub struct Conflict {
    /// Which file of the edit.
    pub file: usize,
    /// The digest that it has now; `None` if there is no such file.
    pub now: Option<Digest>,
    /// The later edit that is in the way, if one is known.
    pub later: Option<LaterEdit>,
}

/// An edit that was made after the one that is to be undone, of the same file.
#[derive(Debug)]
pub struct LaterEdit {
    /// The edit; `None` where it is not told, because some of its files lie outside the roots.
    pub entry: Option<Entry>,
    /// Whether it left the file as it is now; else another program changed the file thereafter.
    pub left_it_so: bool,
}

/// Whether all files of an edit lie in the roots, wherever links lead by now.
#[must_use]
pub(crate) fn is_in_roots(workspace: &Workspace, entry: &Entry) -> bool {
    entry.files.iter().all(|file| match workspace.roots.place(&file.path) {
        Ok(_) => true,
        Err(PathError::Outside { .. } | PathError::Unserved(_)) => false,
        Err(_) => workspace.roots.paths().any(|root| file.path.starts_with(root)),
    })
}

/// Takes an edit back, in all of its files or in none. Each must be what the edit left.
pub(crate) fn undo(workspace: &Workspace, id: &EditId, options: Options<'_>) -> Result<Undone, UndoError> {
    let found = workspace.history.get(id).map_err(UndoError::History)?;
    let Some((entry, undos)) = found.filter(|(entry, _)| is_in_roots(workspace, entry)) else {
        return Err(UndoError::Unknown);
    };
    let work = Work { workspace, entry: &entry, options: Options { undoes: Some(&entry.id), ..options } };
    let done = match undos.as_slice() {
        [Undo::Displaced { .. }] => return Err(UndoError::Displaced(Box::new(entry))),
        [Undo::Remove { directories }] => work.remove(directories).map_err(alone),
        [Undo::Create { contents }] => work.create(contents).map_err(alone),
        [Undo::Create { .. }, Undo::Remove { directories }] if entry.moved().is_some() => {
            work.move_back(directories)
        }
        several => {
            let Some(splices) = several.iter().map(splices).collect::<Option<Vec<_>>>() else {
                let reason = "an edit of several kinds".to_owned();
                return Err(UndoError::History(NotKept::Unavailable { reason, remedy: Remedy::Retry }));
            };
            work.restore(&splices)
        }
    };
    match done {
        Ok(outcome) => Ok(Undone { entry, outcome }),
        Err(problems) => Err(told_apart(workspace, entry, problems)),
    }
}

fn splices(undo: &Undo) -> Option<&SpliceSet> {
    match undo {
        Undo::Splices(splices) => Some(splices),
        _ => None,
    }
}

/// The one problem of an edit of one file. The reason is boxed since it is large, and rare.
#[expect(clippy::boxed_local, reason = "it is what `map_err` has")]
fn alone(reason: Box<Reason>) -> Vec<EditProblem> {
    vec![EditProblem { entry: 0, reason: *reason }]
}

/// Tells the files that have changed since from all else that stands against the undo, and looks for the edit that is in the way.
fn told_apart(workspace: &Workspace, entry: Entry, problems: Vec<EditProblem>) -> UndoError {
    let mut conflicts = Vec::new();
    let mut others = Vec::new();
    for problem in problems {
        let file = problem.entry;
        let now = match &problem.reason {
            Reason::ChangedSince { digest } => *digest,
            Reason::Store(error) if error.kind == StoreErrorKind::NotFound => None,
            _ => {
                others.push(problem);
                continue;
            }
        };
        let path = entry.files.get(file).map(|file| file.path.as_path());
        let later = path.and_then(|path| workspace.history.later(&entry.id, path, now).ok().flatten());
        let later = later.map(|later| {
            let of_file = later.files.iter().find(|file| Some(file.path.as_path()) == path);
            let left_it_so = of_file.is_some_and(|file| file.after == now);
            LaterEdit { entry: Some(later).filter(|later| is_in_roots(workspace, later)), left_it_so }
        });
        conflicts.push(Conflict { file, now, later });
    }
    UndoError::Problems(Box::new(UndoProblems { entry, conflicts, problems: others }))
}

/// An edit that is to be taken back.
#[derive(Clone, Copy)]
struct Work<'a> {
    workspace: &'a Workspace,
    entry: &'a Entry,
    options: Options<'a>,
}

impl<'a> Work<'a> {
    /// Files whose content changed.
    fn restore(self, splices: &[&SpliceSet]) -> Result<Outcome, Vec<EditProblem>> {
        let mut edits = Vec::new();
        let mut problems = Vec::new();
        for (entry, (file, splices)) in self.entry.files.iter().zip(splices).enumerate() {
            match (file.path.to_str(), file.after) {
                (Some(file_path), Some(after)) => edits.push(Edit {
                    file_path,
                    encoding: Some(file.encoding.name()),
                    file_hash: None,
                    change: Change::Restore { after, splices },
                }),
                (None, _) => problems.push(EditProblem { entry, reason: unnameable(&file.path) }),
                (_, None) => {
                    problems.push(EditProblem { entry, reason: Reason::ChangedSince { digest: None } });
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        edit(self.workspace, &edits, self.options)
    }

    /// The path of a file of the edit.
    fn path(self, file: usize) -> Result<&'a str, Box<Reason>> {
        let path = self.entry.files.get(file).map_or(Path::new(""), |file| file.path.as_path());
        Ok(path.to_str().ok_or_else(|| unnameable(path))?)
    }

    fn place(self, file: usize) -> Result<WritablePlace, Box<Reason>> {
        let text = self.path(file)?;
        let path = Path::new(text);
        let place = self.workspace.roots.resolve_for_writing(text);
        place.map_err(|problems| {
            // A path that was edited once has one problem at most.
            problems.into_iter().next().map_or_else(|| unnameable(path), Reason::Path).into()
        })
    }

    /// A file that was moved goes back where it was, and `directories`, which were made for it, go.
    fn move_back(self, directories: &[PathBuf]) -> Result<Outcome, Vec<EditProblem>> {
        // The old place is the first file of the edit, and the new one the second.
        let problem = |entry| move |reason: Box<Reason>| vec![EditProblem { entry, reason: *reason }];
        let (target, source) = (self.place(0).map_err(problem(0))?, self.place(1).map_err(problem(1))?);
        let (to, from) = (self.path(0).map_err(problem(0))?, self.path(1).map_err(problem(1))?);
        let expected = self.entry.files.get(1).and_then(|file| file.after);
        let (workspace, options) = (self.workspace, self.options);
        let moving = Relocation { workspace, source, target, from, to, expected, directories, options };
        moving.carry_out().map_err(|reasons| {
            let problem = |(end, reason)| match (end, reason) {
                // Whatever has the old name, this edit did not leave it there.
                (End::To, Reason::Taken { by, .. }) if by.digest().is_some() => {
                    EditProblem { entry: 0, reason: Reason::ChangedSince { digest: by.digest() } }
                }
                (End::To, reason) => EditProblem { entry: 0, reason },
                (End::From, reason) => EditProblem { entry: 1, reason },
            };
            reasons.into_iter().map(problem).collect()
        })
    }

    /// A file that was created goes.
    fn remove(self, directories: &[PathBuf]) -> Result<Outcome, Box<Reason>> {
        let after = self.entry.files.first().and_then(|file| file.after);
        let expected = Expected::Left(after, self.encoding());
        let (workspace, place, options) = (self.workspace, self.place(0)?, self.options);
        Removing { workspace, place, expected, directories, options }.carry_out()
    }

    /// A file that was removed comes back.
    fn create(self, bytes: &[u8]) -> Result<Outcome, Box<Reason>> {
        let (workspace, options, encoding) = (self.workspace, self.options, self.encoding());
        let place = &self.place(0)?;
        let shown_as = &*place.path().to_string_lossy();
        let making = Making { workspace, place, bytes, encoding, shown_as, options };
        let is_taken = || {
            let digest =
                place.open_file(false).ok().and_then(|file| crate::read::hash::digest_of(&file).ok());
            digest.map(|digest| Reason::ChangedSince { digest: Some(digest) })
        };
        Ok(making.carry_out().map_err(|error| match error.kind {
            StoreErrorKind::AlreadyExists => is_taken().unwrap_or(Reason::Store(error)),
            _ => Reason::Store(error),
        })?)
    }

    fn encoding(self) -> Encoding {
        self.entry.files.first().map_or(Encoding::Utf8, |file| file.encoding)
    }
}

fn unnameable(path: &Path) -> Reason {
    Reason::Store(StoreError::new(Operation::Resolve, path, StoreErrorKind::NotUnicode))
}
