//! Takes a past edit back, in all of its files or in none. This is an edit like any other, so undoing it is a
//! redo.
//!
//! It is carried out as if a client had asked for it, with one more condition: each file must hold what the
//! edit left.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use crate::access::roots::PathError;
use crate::edit::call::edit;
use crate::edit::outcome::Outcome;
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::{Edit, EditChange, EditOptions};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry, EntryFile, NotKept, Undo};
use crate::workspace::Workspace;

/// An edit that was taken back.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undone {
    /// The edit.
    pub entry: Entry,
    /// The result. Its entries are the files of the edit.
    pub outcome: Outcome,
}

/// The reasons why an edit is not taken back. Nothing has changed then, except where
/// [`EditProblem::may_have_written`] says so.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// No such edit is kept, or one of its files lies outside the roots.
    #[error("no such edit is kept")]
    Unknown,
    /// The history cannot be read.
    #[error("the history cannot be read: {0}")]
    History(NotKept),
    /// It was no edit: it holds bytes that recovery kept, which are not put back.
    #[error("it is no edit, but what an interrupted one had displaced")]
    Displaced(Box<Entry>),
    /// Files prevent it.
    #[error("{0}")]
    Problems(Box<UndoProblems>),
}

/// The obstacles to taking an edit back.
#[derive(Debug)]
pub struct UndoProblems {
    /// The edit.
    pub entry: Entry,
    /// Files that have changed since.
    pub conflicts: Vec<Conflict>,
    /// All other problems, by file of the edit.
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
    /// The index of the file in the edit.
    pub file: usize,
    /// The digest that it has now; `None` if there is no such file.
    pub now: Option<Digest>,
    /// The later edit that is in the way, if one is known.
    pub later: Option<LaterEdit>,
}

/// An edit of the same file that was made after the one that is to be undone.
#[derive(Debug)]
pub struct LaterEdit {
    /// The edit; `None` if it is withheld, because some of its files lie outside the roots.
    pub entry: Option<Entry>,
    /// Whether the file is still as this edit left it, so that no other program has changed it since.
    pub left_it_so: bool,
}

/// Tells whether all files of an edit lie in the roots, as links lead now.
#[must_use]
pub(crate) fn is_in_roots(workspace: &Workspace, entry: &Entry) -> bool {
    entry.files.iter().all(|file| is_path_in_roots(workspace, &file.path))
}

/// Tells whether a path lies in the roots, as links lead now.
pub(crate) fn is_path_in_roots(workspace: &Workspace, path: &Path) -> bool {
    match workspace.roots.place(path) {
        Ok(_) => true,
        Err(PathError::Outside { .. } | PathError::Unserved(_)) => false,
        Err(_) => workspace.roots.paths().any(|root| path.starts_with(root)),
    }
}

/// Takes an edit back, in all of its files or in none. Each must be what the edit left.
pub(crate) fn undo(
    workspace: &Workspace,
    id: &EditId,
    options: EditOptions<'_>,
) -> Result<Undone, UndoError> {
    let found = workspace.history.get(id).map_err(UndoError::History)?;
    let Some((entry, undos)) = found.filter(|(entry, _)| is_in_roots(workspace, entry)) else {
        return Err(UndoError::Unknown);
    };
    if let [Undo::Displaced { .. }] = undos.as_slice() {
        return Err(UndoError::Displaced(Box::new(entry)));
    }
    // Another file can have the name and the bytes of one that the edit left.
    let moved = workspace.history.moved_since(&entry.id).map_err(UndoError::History)?;
    let dry_run = options.dry_run || !moved.is_empty();
    let options = EditOptions { undoes: Some(&entry), dry_run, ..options };
    match take_back(workspace, &entry, &undos, options) {
        Ok(outcome) if moved.is_empty() => Ok(Undone { entry, outcome }),
        done => Err(told_apart(workspace, entry, done.err().unwrap_or_default(), moved)),
    }
}

/// Separates the files that have changed since from all other problems, and looks for the later edit that is
/// in the way. A file in `moved` has changed, too, since that edit may have given its name to another.
fn told_apart(
    workspace: &Workspace,
    entry: Entry,
    problems: Vec<EditProblem>,
    moved: BTreeMap<usize, EditId>,
) -> UndoError {
    let mut conflicts: Vec<Conflict> = Vec::new();
    let later_edit = |later: Entry, path: Option<&Path>, now: Option<Digest>| {
        let left_it_so = path.is_some_and(|path| later.left_at(path) == now);
        LaterEdit { entry: Some(later).filter(|later| is_in_roots(workspace, later)), left_it_so }
    };
    let path_of = |file: usize| entry.files.get(file).map(|file| file.path.as_path());
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
        let path = path_of(file);
        let later = path.and_then(|path| workspace.history.later(&entry.id, path, now).ok().flatten());
        conflicts.push(Conflict { file, now, later: later.map(|later| later_edit(later, path, now)) });
    }
    for (file, later) in moved {
        let path = path_of(file);
        if conflicts.iter().all(|conflict| path_of(conflict.file) != path) {
            let now = path.and_then(|path| entry.left_at(path));
            let later = workspace.history.get(&later).ok().flatten();
            let later = later.map(|(later, _)| later_edit(later, path, now));
            conflicts.push(Conflict { file, now, later });
        }
    }
    conflicts.sort_by_key(|conflict| conflict.file);
    UndoError::Problems(Box::new(UndoProblems { entry, conflicts, problems: others }))
}

/// Carries out the change that turns each file of an edit back.
fn take_back(
    workspace: &Workspace,
    entry: &Entry,
    undos: &[Undo],
    options: EditOptions<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let (mut edits, mut rows_of_edits, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = entry.files.iter().zip(undos).enumerate().peekable();
    while let Some((row, (file, undo))) = rows.next() {
        let mut turned = Turned { file, move_to: None, directories: &[], change: change(file, undo) };
        let mut row_now = row;
        if let Undo::Remove { directories } = undo {
            turned.directories = directories;
        }
        if entry.moved_at(row).is_some()
            && let Some((to, (moved, Undo::Remove { directories }))) = rows.next()
        {
            // If the file was edited, too, the row of that follows.
            let change = match rows.next_if(|(_, (row, _))| row.is_change_of(moved)) {
                Some((_, (file, undo))) => change(file, undo),
                None => Some(EditChange::Keep { after: moved.after }),
            };
            turned = Turned { file: moved, move_to: Some(file), directories, change };
            row_now = to;
        }
        match turned.edit() {
            Ok(edit) => {
                edits.push(edit);
                rows_of_edits.push((row, row_now));
            }
            Err(reason) => problems.push(EditProblem { entry: row_now, reason: *reason }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let rows_of = |entry: usize| rows_of_edits.get(entry).copied().unwrap_or((entry, entry));
    let done = edit(workspace, &edits, options).map_err(|problems| {
        let problem = |EditProblem { entry, reason }| match (rows_of(entry), reason) {
            // The old place of a moved file has a row of its own.
            ((row, _), Reason::OfTarget(reason)) => EditProblem { entry: row, reason: since(*reason) },
            ((_, row), reason) => EditProblem { entry: row, reason: since(reason) },
        };
        problems.into_iter().map(problem).collect::<Vec<_>>()
    });
    done.map(|mut outcome| {
        for file in &mut outcome.files {
            file.entry = rows_of(file.entry).0;
        }
        outcome
    })
}

/// A file of an edit, turned back.
struct Turned<'a> {
    /// The file, where it is now.
    file: &'a EntryFile,
    /// The file's former place, if it was moved.
    move_to: Option<&'a EntryFile>,
    directories: &'a [PathBuf],
    /// `None` if the history does not tell what the file must hold now.
    change: Option<EditChange<'a>>,
}

impl<'a> Turned<'a> {
    fn edit(&self) -> Result<Edit<'a>, Box<Reason>> {
        let name = |file: &'a EntryFile| file.path.to_str().ok_or_else(|| Box::new(unnameable(&file.path)));
        let file_path = name(self.file)?;
        let move_to = self.move_to.map(name).transpose()?;
        let change = self.change.ok_or(Reason::ChangedSince { digest: None })?;
        let (encoding, directories) = (Some(self.file.encoding.name()), self.directories);
        Ok(Edit { file_path, encoding, file_hash: None, move_to, directories, change })
    }
}

/// Returns the change that turns the bytes of a file back.
fn change<'a>(file: &EntryFile, undo: &'a Undo) -> Option<EditChange<'a>> {
    match undo {
        Undo::Splices(splices) => file.after.map(|after| EditChange::Restore { after, splices }),
        Undo::Remove { .. } => Some(EditChange::UndoCreate { after: file.after }),
        Undo::Create { contents } => Some(EditChange::Recreate(contents)),
        Undo::Displaced { .. } => None,
    }
}

/// Returns a reason as an undo reports it. If something has the name of a file that is to come back, it
/// counts as changed, since the edit did not leave it there.
fn since(reason: Reason) -> Reason {
    let digest = match &reason {
        Reason::Exists(by) | Reason::Taken { by, .. } => by.digest(),
        _ => None,
    };
    digest.map_or(reason, |digest| Reason::ChangedSince { digest: Some(digest) })
}

fn unnameable(path: &Path) -> Reason {
    Reason::Store(StoreError::new(Operation::Resolve, path, StoreErrorKind::NotUnicode))
}
