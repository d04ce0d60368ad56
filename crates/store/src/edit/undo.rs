//! Undoes a past edit, in all of its files or in none. An undo is itself an edit, so undoing an undo is a
//! redo.
//!
//! An undo is carried out like an edit by a client, with one more condition: each file must have the content
//! that the past edit left. Later changes, by other edits or other programs, are allowed only if they neither
//! touch nor border the bytes that the past edit wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::splice::SpliceSet;

use crate::edit::call::edit;
use crate::edit::outcome::{EditProblem, Outcome, Reason, Warning};
use crate::edit::request::{Edit, EditChange, EditOptions, is_in_roots};
use crate::edit::snapshot::{Snapshot, now};
use crate::edit::states::{beside_others, in_the_way, later_than, standing};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{ChangeKind, EditId, Entry, EntryFile, Filter, NotKept, Undo};
use crate::workspace::Workspace;

/// The result of undoing an edit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undone {
    /// The edit.
    pub entry: Entry,
    /// The result of the undo. Its entries are indices of the edit's files.
    pub outcome: Outcome,
}

/// The reasons why an edit is not undone. No file has changed, unless [`EditProblem::may_have_written`] says
/// so.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// No such edit is kept, or one of its files is outside the roots.
    #[error("no such edit is kept")]
    Unknown,
    /// The history cannot be read.
    #[error("the history cannot be read: {0}")]
    History(NotKept),
    /// The id does not belong to an edit, but to bytes that recovery kept. They cannot be restored.
    #[error("it is no edit, but what an interrupted one had displaced")]
    Displaced(Box<Entry>),
    /// Some files prevent the undo.
    #[error("{0}")]
    Problems(Box<UndoProblems>),
}

/// The problems that prevent undoing an edit.
#[derive(Debug)]
pub struct UndoProblems {
    /// The edit.
    pub entry: Entry,
    /// The files that have changed since the edit.
    pub conflicts: Vec<Conflict>,
    /// All other problems, each with the index of a file of the edit as its entry.
    pub problems: Vec<EditProblem>,
    /// The smallest set of edits that must be undone together to undo this edit, the newest first: the later
    /// edits that prevent its undo, the edits that prevent their undos, and so on, and this edit as the last.
    /// Empty if the set is not known, or if undoing it would not help.
    pub together: Vec<EditId>,
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

/// A file that has changed since the edit.
#[derive(Debug)]
pub struct Conflict {
    /// The index of the file in the edit.
    pub file: usize,
    /// The file's present digest; `None` if there is no such file.
    pub now: Option<Digest>,
    /// The later edit that prevents the undo; if there are several, the newest. `None` if none is known.
    pub later: Option<LaterEdit>,
    /// All edits that must be undone before the edit, oldest first; empty if they are not known, or if
    /// another program has changed the file.
    pub by: Vec<EditId>,
}

/// An edit of the same file that was made after the edit to undo.
#[derive(Debug)]
pub struct LaterEdit {
    /// The edit; `None` if it is withheld, because some of its files are outside the roots.
    pub entry: Option<Entry>,
    /// Whether the file still has the content that this later edit left. If so, no other program has changed
    /// it since.
    pub left_it_so: bool,
}

/// Undoes an edit, in all of its files or in none. Later changes elsewhere in the files do not prevent the
/// undo.
pub(crate) fn undo(
    workspace: &Workspace,
    id: &EditId,
    options: EditOptions<'_>,
) -> Result<Undone, UndoError> {
    undo_by(Snapshot::of(workspace), id, options, &|_, edits, options| edit(workspace, edits, options))
}

/// A function that carries out the edits which undo a past edit.
pub(crate) type CarryOut<'a> =
    &'a dyn Fn(&Entry, &[Edit<'_>], EditOptions<'_>) -> Result<Outcome, Vec<EditProblem>>;

/// Does the same as [`undo`], in this state of the files and of the history.
pub(crate) fn undo_by(
    snapshot: Snapshot<'_>,
    id: &EditId,
    options: EditOptions<'_>,
    carry_out: CarryOut<'_>,
) -> Result<Undone, UndoError> {
    let found = snapshot.history.get(id).map_err(UndoError::History)?;
    let Some((entry, undos)) = found.filter(|(entry, _)| is_in_roots(snapshot.workspace, entry)) else {
        return Err(UndoError::Unknown);
    };
    if let [Undo::Displaced { .. }] = undos.as_slice() {
        return Err(UndoError::Displaced(Box::new(entry)));
    }
    // If a file has moved since, another file can have its old path and the same bytes.
    let moved = snapshot.history.moved_since(&entry.id).map_err(UndoError::History)?;
    let direct =
        EditOptions { undoes: Some(&entry), dry_run: options.dry_run || !moved.is_empty(), ..options };
    let mut done = take_back(&entry, &undos, &[], direct, carry_out);
    let has_changed = |problem: &EditProblem| matches!(problem.reason, Reason::ChangedSince { .. });
    if done.as_ref().err().is_some_and(|problems| problems.iter().any(has_changed)) {
        let rows = 0..entry.files.len();
        let carried: Vec<_> = rows.map(|row| carry(snapshot, &entry, row, undos.get(row)?)).collect();
        let beside = EditOptions { shows_diff: true, ..direct };
        done = take_back(&entry, &undos, &carried, beside, carry_out);
    }
    match done {
        Ok(outcome) if moved.is_empty() => Ok(Undone { entry, outcome }),
        done => Err(told_apart(snapshot, (entry, &undos), done.err().unwrap_or_default(), moved)),
    }
}

/// A file of an edit that has been changed since, but neither in nor next to the bytes that the edit wrote.
struct Carried {
    /// The file's present digest.
    digest: Digest,
    /// The splices that undo the edit in the present content; none for a file that the edit moved.
    splices: SpliceSet,
}

fn carry(snapshot: Snapshot<'_>, entry: &Entry, row: usize, undo: &Undo) -> Option<Carried> {
    let file = entry.files.get(row)?;
    let splices = match undo {
        Undo::Splices(splices) => splices,
        Undo::Remove { .. } if entry.moved_at(row.checked_sub(1)?).is_some() => &SpliceSet::default(),
        _ => return None,
    };
    let bytes = now(snapshot, &file.path)?;
    let digest = Digest::of(&bytes);
    if snapshot.history.leaves(&file.path, Some(digest)).ok()?
        && let Some(standing) = standing(snapshot, entry, file).ok()?
        && (&standing.path, standing.digest) == (&file.path, digest)
    {
        return Some(Carried { digest, splices: splices.carried(&standing.back)? });
    }
    let splices = beside_others(file, &bytes, splices).filter(|splices| !splices.as_slice().is_empty())?;
    Some(Carried { digest, splices })
}

/// Separates the files that have changed since the edit from all other problems, and searches for the later
/// edits that prevent the undo. A file in `moved` counts as changed: by now, another file may have its path
/// and the same bytes.
pub(super) fn told_apart(
    snapshot: Snapshot<'_>,
    (entry, undos): (Entry, &[Undo]),
    problems: Vec<EditProblem>,
    moved: BTreeMap<usize, Vec<EditId>>,
) -> UndoError {
    let mut conflicts: Vec<Conflict> = Vec::new();
    let later_edit = |later: Entry, path: Option<&Path>, now: Option<Digest>| {
        let left_it_so = path.is_some_and(|path| later.left_at(path) == now);
        let entry = Some(later).filter(|later| is_in_roots(snapshot.workspace, later));
        LaterEdit { entry, left_it_so }
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
        // If the edit also changed the file that it moved, the row of that change follows.
        let is_change = |[moved, row]: [&EntryFile; 2]| row.is_change_of(moved);
        let pair = entry.files.get(file).zip(entry.files.get(file + 1)).map(|(moved, row)| [moved, row]);
        let at = file + usize::from(pair.is_some_and(is_change));
        let row = entry.files.get(at).zip(undos.get(at));
        let row = row.filter(|(row, _)| snapshot.history.leaves(&row.path, now) == Ok(true));
        let by = row.and_then(|(row, undo)| in_the_way(snapshot, &entry, row, undo).ok().flatten());
        let by = by.filter(|by| Some(by.digest) == now).map_or_else(Vec::new, |by| by.newest).into_iter();
        let mut by: Vec<Entry> = by.filter(|(_, is_in_the_way)| *is_in_the_way).map(|(by, _)| by).collect();
        let mut ids: Vec<EditId> = by.iter().map(|by| by.id.clone()).collect();
        if let Some((row, _)) = row.filter(|(row, _)| row.after.is_none()) {
            let events = name_events(snapshot, &entry.id, &row.path).unwrap_or_default();
            ids.extend(events.last().filter(|(_, is_given)| *is_given).map(|(by, _)| by.clone()));
        }
        let later = if let Some(newest) = by.pop() {
            let entry = Some(newest).filter(|newest| is_in_roots(snapshot.workspace, newest));
            Some(LaterEdit { entry, left_it_so: true })
        } else {
            let later = path.and_then(|path| snapshot.history.later(&entry.id, path, now).ok().flatten());
            let later = match later {
                Some(planned) if planned.id.is_planned() => {
                    path.and_then(|path| newest(snapshot, &entry, path))
                }
                later => later,
            };
            later.map(|later| later_edit(later, path, now))
        };
        // If that later edit is undone, the file again has the content that the edit to undo left.
        let is_next = |later: &&Entry| {
            let left = entry.files.get(file).and_then(|row| row.after);
            later.files.iter().any(|row| Some(&*row.path) == path && row.before == left)
        };
        if let Some(next) = later.as_ref().and_then(|later| later.entry.as_ref()).filter(is_next)
            && ids.is_empty()
            && later.as_ref().is_some_and(|later| later.left_it_so)
        {
            ids.push(next.id.clone());
        }
        conflicts.push(Conflict { file, now, later, by: ids });
    }
    for (file, by) in moved {
        let path = path_of(file);
        match conflicts.iter_mut().find(|conflict| path_of(conflict.file) == path) {
            Some(conflict) if conflict.by.is_empty() => conflict.by = by,
            Some(_) => {}
            None => {
                let now = path.and_then(|path| entry.left_at(path));
                let later = by.last().and_then(|later| snapshot.history.get(later).ok().flatten());
                let later = later.map(|(later, _)| later_edit(later, path, now));
                conflicts.push(Conflict { file, now, later, by });
            }
        }
    }
    conflicts.sort_by_key(|conflict| conflict.file);
    let is_known = others.is_empty() && conflicts.iter().all(|conflict| !conflict.by.is_empty());
    let is_known = is_known && entry.undone_by.is_none();
    // What must be undone together does not depend on what is planned.
    let present = Snapshot::of(snapshot.workspace);
    let together =
        if is_known { together(present, &entry, &conflicts).unwrap_or_default() } else { Vec::new() };
    UndoError::Problems(Box::new(UndoProblems { entry, conflicts, problems: others, together }))
}

/// Returns the newest edit of a path after `entry`, other than those whose undos are planned.
fn newest(snapshot: Snapshot<'_>, entry: &Entry, path: &Path) -> Option<Entry> {
    let filter = Filter::of_path(Some(path));
    let planned = |edit: &Entry| edit.id.is_planned();
    let planned = snapshot.history.find(&filter, usize::MAX, &planned).ok()?;
    let is_left = |edit: &Entry| planned.iter().all(|planned| planned.undoes.as_ref() != Some(&edit.id));
    let newest = snapshot.workspace.history.find(&filter, 1, &|edit| is_left(edit)).ok()?.pop();
    newest.filter(|newest| newest.id != entry.id)
}

/// Returns, oldest first, the edits after `edit` that gave a name to a file (`true`) or took it away.
fn name_events(snapshot: Snapshot<'_>, edit: &EditId, path: &Path) -> Result<Vec<(EditId, bool)>, NotKept> {
    let mut events = Vec::new();
    for later in later_than(snapshot, path, edit)?.into_iter().rev() {
        for kind in [ChangeKind::Removed, ChangeKind::Created] {
            if later.files.iter().any(|row| row.path == path && row.kind == kind) {
                events.push((later.id.clone(), kind == ChangeKind::Created));
            }
        }
    }
    Ok(events)
}

/// The maximum number of edits in [`UndoProblems::together`].
const MAX_TOGETHER: usize = 100;

/// Returns the edits to undo together with an edit: the edits that prevent its undo, the edits that prevent
/// their undos, and so on, and this edit as the last. Returns `None` if one of them is not kept, is withheld,
/// or moved a file back, if there are too many, or if undoing one of them would restore an edit that must
/// stay undone.
fn together(snapshot: Snapshot<'_>, entry: &Entry, conflicts: &[Conflict]) -> Option<Vec<EditId>> {
    let history = &snapshot.history;
    let mut together = BTreeSet::new();
    // The later edits that must not be undone.
    let mut stay = BTreeSet::new();
    let mut next: Vec<EditId> = conflicts.iter().flat_map(|conflict| conflict.by.clone()).collect();
    next.push(entry.id.clone());
    // For each name that the undos give back, which must be free by then, what happened to it since.
    let mut names: Vec<Vec<(EditId, bool)>> = Vec::new();
    loop {
        let Some(id) = next.pop() else {
            // An edit gave the name to a file that has it now, or will have it again once its loss is undone.
            let is_lost =
                |event: Option<&(EditId, bool)>| event.is_some_and(|(by, _)| !together.contains(by));
            for events in &names {
                let givers = events
                    .iter()
                    .enumerate()
                    .filter(|(_, (by, is_given))| *is_given && !together.contains(by));
                let in_the_way = givers.filter(|(index, _)| !is_lost(events.get(index + 1)));
                next.extend(in_the_way.map(|(_, (by, _))| by.clone()));
            }
            if next.is_empty() {
                break;
            }
            continue;
        };
        if together.contains(&id) {
            continue;
        }
        let (member, undos) = history.get(&id).ok()??;
        // After this member is undone, a file that was moved back and forth may not be where the other
        // members' undos expect it.
        let is_move_back =
            member.undoes.is_some() && (0..undos.len()).any(|row| member.moved_at(row).is_some());
        if together.len() > MAX_TOGETHER || is_move_back || !is_in_roots(snapshot.workspace, &member) {
            return None;
        }
        together.insert(id);
        next.extend(history.moved_since(&member.id).ok()?.into_values().flatten());
        for (row, undo) in member.files.iter().zip(&undos) {
            if row.after.is_none() {
                names.push(name_events(snapshot, &member.id, &row.path).ok()?);
            }
            let newest = in_the_way(snapshot, &member, row, undo).ok()?.map_or_else(Vec::new, |by| by.newest);
            let (undone, left): (Vec<_>, Vec<_>) =
                newest.into_iter().partition(|(_, is_in_the_way)| *is_in_the_way);
            next.extend(undone.into_iter().map(|(by, _)| by.id));
            stay.extend(left.into_iter().map(|(by, _)| by.id));
        }
    }
    if !together.is_disjoint(&stay) {
        return None;
    }
    let wanted = |entry: &Entry| together.contains(&entry.id);
    let listed = history.find(&Filter::default(), together.len(), &wanted).ok()?;
    Some(listed.into_iter().map(|entry| entry.id).collect())
}

/// Carries out the changes that undo an edit in its files. `carried` has one item per file: if it is not
/// `None`, its splices for the file's present content are used.
fn take_back(
    entry: &Entry,
    undos: &[Undo],
    carried: &[Option<Carried>],
    options: EditOptions<'_>,
    carry_out: CarryOut<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let (mut edits, mut rows_of_edits, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    // For each of `edits`, the digest that the past edit left.
    let mut lefts = Vec::new();
    let carried = |row: usize| carried.get(row).and_then(Option::as_ref);
    let mut rows = entry.files.iter().zip(undos).enumerate().peekable();
    while let Some((row, (file, undo))) = rows.next() {
        let mut turned =
            Turned { file, move_to: None, directories: &[], change: change(file, undo, carried(row)) };
        let (mut row_now, mut left) = (row, file.after);
        if let Undo::Remove { directories } = undo {
            turned.directories = directories;
        }
        if entry.moved_at(row).is_some()
            && let Some((to, (moved, Undo::Remove { directories }))) = rows.next()
        {
            // If the edit also changed the moved file's content, the row of that change follows.
            let edited = rows.next_if(|(_, (row, _))| row.is_change_of(moved));
            left = edited.map_or(moved.after, |(_, (file, _))| file.after);
            let change = if let Some((row, (file, undo))) = edited {
                change(file, undo, carried(row))
            } else {
                Some(EditChange::Keep { after: carried(to).map(|carried| carried.digest).or(moved.after) })
            };
            turned = Turned { file: moved, move_to: Some(file), directories, change };
            row_now = to;
        }
        match turned.edit() {
            Ok(edit) => {
                edits.push(edit);
                lefts.push(left);
                rows_of_edits.push((row, row_now));
            }
            Err(reason) => problems.push(EditProblem { entry: row_now, reason: *reason }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let rows_of = |entry: usize| rows_of_edits.get(entry).copied().unwrap_or((entry, entry));
    let done = carry_out(entry, &edits, options).map_err(|problems| {
        let problem = |EditProblem { entry, reason }| match (rows_of(entry), reason) {
            // The old place of a moved file has its own row.
            ((row, _), Reason::OfTarget(reason)) => EditProblem { entry: row, reason: since(*reason) },
            ((_, row), reason) => EditProblem { entry: row, reason: since(reason) },
        };
        problems.into_iter().map(problem).collect::<Vec<_>>()
    });
    done.map(|mut outcome| {
        for file in &mut outcome.files {
            let left = lefts.get(file.entry).copied().flatten();
            let held = match edits.get(file.entry).map(|edit| edit.change) {
                Some(EditChange::Restore { after, .. }) => Some(after),
                Some(EditChange::Keep { after }) => after,
                _ => left,
            };
            if held != left {
                file.warnings.insert(0, Warning::BesideLaterEdits);
            }
            file.entry = rows_of(file.entry).0;
        }
        outcome
    })
}

/// A change that undoes an edit in one file.
struct Turned<'a> {
    /// The row of the file at its present place.
    file: &'a EntryFile,
    /// The row of the file's former place, if the edit moved the file.
    move_to: Option<&'a EntryFile>,
    directories: &'a [PathBuf],
    /// `None` if the history does not have the content that the file must have now.
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

/// Returns the change that undoes an edit in a file's bytes: in its present bytes if `carried` is given,
/// otherwise in the bytes that the edit left. Returns `None` if the history does not have the content that
/// the file must have.
fn change<'a>(file: &EntryFile, undo: &'a Undo, carried: Option<&'a Carried>) -> Option<EditChange<'a>> {
    if let Some(Carried { digest, splices }) = carried {
        return Some(EditChange::Restore { after: *digest, splices });
    }
    match undo {
        Undo::Splices(splices) => file.after.map(|after| EditChange::Restore { after, splices }),
        Undo::Remove { .. } => Some(EditChange::UndoCreate { after: file.after }),
        Undo::Create { contents } => Some(EditChange::Recreate(contents)),
        Undo::Displaced { .. } => None,
    }
}

/// Converts a reason to the one that an undo reports. If another file has the path of a file that is to be
/// restored, the path counts as changed since the edit, because the edit did not leave that file there.
pub(super) fn since(reason: Reason) -> Reason {
    let digest = match &reason {
        Reason::Exists(by) | Reason::Taken { by, .. } => by.digest(),
        _ => None,
    };
    digest.map_or(reason, |digest| Reason::ChangedSince { digest: Some(digest) })
}

fn unnameable(path: &Path) -> Reason {
    Reason::Store(StoreError::new(Operation::Resolve, path, StoreErrorKind::NotUnicode))
}
