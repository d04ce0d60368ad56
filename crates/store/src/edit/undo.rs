//! Taking a past edit back, in all of its files or in none. This is an edit like any other, so undoing it is redo.
//!
//! Changed files are restored by [`crate::edit`], created ones are removed by [`crate::commit::remove`], and removed ones are created
//! again by [`crate::commit::publish_new`].

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::regions;
use mcp_text_editor_core::resolve::Options as Matching;
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::scanned::Scanned;
use mcp_text_editor_core::source::read_range;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::place::{Place, WritablePlace};
use crate::access::roots::PathError;
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::commit::remove::{Around, Removal, Removed, remove};
use crate::edit::call::edit;
use crate::edit::create::{check_free, create_recorded};
use crate::edit::move_file::{End, Relocation};
use crate::edit::outcome::{Became, Edited, Outcome, Warning};
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::{self, Change, Edit};
use crate::edit::whole_diff::{removal_diff, whole_diff};
use crate::error::{Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{EditId, Entry, FileEdit, NewEdit, NotKept, Remedy, Undo};
use crate::lock::{Backoff, LockTimeout};
use crate::os::clock::now;
use crate::read::document::{Document, Extent};
use crate::recovery::lock_settled;
use crate::workspace::Workspace;

/// How an edit is to be taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    /// The tool's name, for the history.
    pub tool: &'a str,
    /// Check everything, write nothing, and show the difference.
    pub dry_run: bool,
    /// Whether the client has withdrawn the call.
    pub cancellation: Cancellation<'a>,
}

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
    pub later: Option<Entry>,
    /// Where that edit is not told, because some of its files lie outside the roots: whether it left the file as it is now.
    pub beyond_roots: Option<IsLeft>,
}

/// Whether an edit left a file as it is now; else another program changed it thereafter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsLeft(pub bool);

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
    let work = Work { workspace, entry: &entry, options };
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
        let (later, hidden) = match later {
            Some(later) if !is_in_roots(workspace, &later) => (None, Some(later)),
            later => (later, None),
        };
        let has_left = |later: Entry| {
            let of_file = later.files.iter().find(|file| Some(file.path.as_path()) == path);
            IsLeft(of_file.is_some_and(|file| file.after == now))
        };
        conflicts.push(Conflict { file, now, later, beyond_roots: hidden.map(has_left) });
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
        let options = request::Options {
            tool: self.options.tool,
            undoes: Some(&self.entry.id),
            matching: Matching::default(),
            dry_run: self.options.dry_run,
            cancellation: self.options.cancellation,
        };
        edit(self.workspace, &edits, options)
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
        let Options { tool, dry_run, cancellation } = self.options;
        let options = request::Options {
            tool,
            undoes: Some(&self.entry.id),
            matching: Matching::default(),
            dry_run,
            cancellation,
        };
        let expected = self.entry.files.get(1).and_then(|file| file.after);
        let workspace = self.workspace;
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
        let place = self.place(0)?;
        let wait = LockTimeout {
            cancellation: self.options.cancellation,
            observer: self.workspace.observer,
            ..LockTimeout::default()
        };
        let mut backoff = Backoff::new(&wait);
        let mut attempts = Attempts::new(self.options.cancellation);
        loop {
            match self.remove_once(&place, directories, &mut backoff) {
                Err(reason) if matches!(&*reason, Reason::Store(error) if attempts.again(error)) => {}
                Err(reason) => return Err(reason),
                Ok((outcome, around)) => {
                    drop(place);
                    around.into_iter().for_each(Around::remove);
                    return Ok(outcome);
                }
            }
        }
    }

    fn remove_once(
        self,
        place: &WritablePlace,
        directories: &[PathBuf],
        backoff: &mut Backoff<'_>,
    ) -> Result<(Outcome, Option<Around<'a>>), Box<Reason>> {
        let Options { dry_run, cancellation, .. } = self.options;
        let changed = || StoreError::new(Operation::Lock, place.path(), StoreErrorKind::Changed);
        let locked = lock_settled(self.workspace, &[place], backoff).map_err(|problems| {
            Reason::Store(problems.into_iter().next().map_or_else(changed, |(_, error)| error))
        })?;
        let locked = locked.files.into_iter().next().ok_or_else(|| Reason::Store(changed()))?;
        let began = now();
        let encoding = self.encoding();
        let document = Document::of_one_state(locked.file(), Some(encoding), Extent::Whole, cancellation)
            .map_err(Reason::Store)?;
        let after = self.entry.files.first().and_then(|file| file.after);
        let Some(digest) = document.digest().filter(|digest| after == Some(*digest)) else {
            return Err(Reason::ChangedSince { digest: document.digest() }.into());
        };
        let fail =
            |fault: ReadFault| Reason::Store(StoreError::from_fault(Operation::Read, place.path(), fault));
        let text = removal_diff(&document, encoding, place).map_err(fail)?;
        let mut edited = Edited {
            entry: 0,
            became: Became::Edited,
            digest: dry_run.then_some(digest),
            total_lines: 0,
            regions: Vec::new(),
            diff: dry_run.then(|| text.clone()),
            warnings: vec![Warning::Removed],
        };
        if dry_run {
            return Ok((Outcome { edit_id: None, files: vec![edited] }, None));
        }
        let contents = if document.scan.size <= self.workspace.max_kept_bytes {
            Ok(read_range(&document, 0..document.scan.size).map_err(fail)?)
        } else {
            Err(NotKept::TooLarge)
        };
        let is_settled = locked.file().identity().has_settled_content(began);
        let removal = Removal { place, locked, digest, is_settled, directories };
        let remember = || {
            let undo = Undo::Create { contents: contents? };
            self.record(place, (Some(digest), None), undo, text)
        };
        let Removed { noted, was_recorded, around } =
            remove(self.workspace, removal, cancellation, remember).map_err(Reason::Store)?;
        edited.warnings.extend((!was_recorded).then_some(Warning::NoJournal));
        Ok((Outcome::noted(edited, noted), Some(around)))
    }

    /// A file that was removed comes back.
    fn create(self, contents: &[u8]) -> Result<Outcome, Box<Reason>> {
        let place = self.place(0)?;
        let encoding = self.encoding();
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(contents);
        let scan = scanner.finish();
        let none = Scanner::new(Some(encoding)).finish();
        let (before, after) = (Scanned::new(&[][..], &none), Scanned::new(contents, &scan));
        let text = whole_diff(before, after, &place);
        let text = text.unwrap_or_else(|never| match never {});
        let is_taken = || {
            let digest =
                place.open_file(false).ok().and_then(|file| crate::read::hash::digest_of(&file).ok());
            digest.map(|digest| Reason::ChangedSince { digest: Some(digest) })
        };
        let reason = |error: StoreError| match error.kind {
            StoreErrorKind::AlreadyExists => is_taken().unwrap_or(Reason::Store(error)),
            _ => Reason::Store(error),
        };
        let region = regions::whole(before, after);
        let mut edited = Edited {
            entry: 0,
            became: Became::Edited,
            digest: Some(scan.digest),
            total_lines: scan.lines.count(),
            regions: region.unwrap_or_else(|never| match never {}).into_iter().collect(),
            diff: None,
            warnings: Vec::new(),
        };
        if self.options.dry_run {
            check_free(&place).map_err(reason)?;
            (edited.diff, edited.digest) = (Some(text), None);
            return Ok(Outcome { edit_id: None, files: vec![edited] });
        }
        let made =
            create_recorded(self.workspace, &place, contents, self.options.cancellation, |directories| {
                let undo = Undo::Remove { directories: directories.to_vec() };
                self.record(&place, (None, Some(scan.digest)), undo, text)
            });
        let noted = made.map_err(reason)?;
        Ok(Outcome::noted(edited, noted))
    }

    fn encoding(self) -> Encoding {
        self.entry.files.first().map_or(Encoding::Utf8, |file| file.encoding)
    }

    fn record(
        self,
        place: &Place,
        (before, after): (Option<Digest>, Option<Digest>),
        undo: Undo,
        diff: String,
    ) -> Result<EditId, NotKept> {
        let (path, relative) = (place.path().to_owned(), place.relative().to_owned());
        let file = FileEdit { path, relative, encoding: self.encoding(), before, after, undo, diff };
        let tool = self.options.tool;
        self.workspace.history.record(&NewEdit { tool, undoes: Some(&self.entry.id), files: vec![file] })
    }
}

fn unnameable(path: &Path) -> Reason {
    Reason::Store(StoreError::new(Operation::Resolve, path, StoreErrorKind::NotUnicode))
}
