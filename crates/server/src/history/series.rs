//! Takes several past edits back, the newest first, after checking all of them for obstacles. This is for a
//! person, so roots do not restrict it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::{
    ChangeKind, Conflict, Control, EditId, EditProblem, Entry, EntryFile, LaterEdit, NotKept, Reason,
    StoreError, UndoError, UndoProblems, Undone, Warning, Workspace,
};

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::render::edit::Hashes;
use crate::render::explain::Call;
use crate::render::history::undo_problems;
use crate::tool_id::ToolId;

/// An edit of a series to take back.
#[derive(Debug)]
pub struct SeriesStep {
    /// The edit.
    pub entry: Entry,
    /// The obstacles that remain once the later edits of the series are taken back; `None` if there are none.
    pub against: Option<UndoProblems>,
}

/// The reason why a series cannot be planned, or was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The history has no edit with this id.
    #[error("no edit {0} is kept")]
    Unknown(EditId),
    /// The id belongs to bytes that recovery kept, not to an edit. They are not put back.
    #[error("{0} is no edit, but what an interrupted one had displaced")]
    Displaced(EditId),
    /// The edit changed files of a root that this machine does not reach. The text names the root.
    #[error("edit {0} changed files of {1}, which this machine does not reach")]
    Elsewhere(EditId, String),
    /// The history cannot be read.
    #[error("the history cannot be read: {0}")]
    History(NotKept),
    /// The directories of an edit cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are obstacles to the edit.
    #[error("{0}")]
    Problems(Box<UndoProblems>),
}

/// Checks the edits of a series, the newest first, for obstacles to taking them back. Writes nothing.
///
/// A later edit is an obstacle to an older one only if it is not in the series, or cannot be taken back
/// itself. The history determines the digest that a file will have once the later edits of the series are
/// taken back, unless other edits remain in the file. All other checks of an undo, such as permissions, are
/// made on the disk as it is now.
#[derive(Debug)]
pub struct SeriesPlan {
    entries: std::vec::IntoIter<Entry>,
    /// The edits that were checked so far and can be taken back.
    free: HashSet<EditId>,
    restored: HashMap<PathBuf, Restored>,
}

/// The state of a file once the edits in `free` are taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Restored {
    /// The file has this digest; `None` if it does not exist.
    To(Option<Digest>),
    /// Edits that are not taken back remain, so the digest is not known.
    Partly,
}

impl SeriesPlan {
    /// Begins the plan of taking these edits back.
    pub fn new(workspace: &Workspace, ids: &[EditId]) -> Result<Self, SeriesError> {
        let requested: HashSet<&EditId> = ids.iter().collect();
        let entries = workspace.history().list(None, usize::MAX, &|entry| requested.contains(&entry.id));
        let entries = entries.map_err(SeriesError::History)?;
        let known: HashSet<&EditId> = entries.iter().map(|entry| &entry.id).collect();
        if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
            return Err(SeriesError::Unknown(unknown.clone()));
        }
        Ok(Self { entries: entries.into_iter(), free: HashSet::new(), restored: HashMap::new() })
    }

    /// Checks the next edit; `None` after the last one.
    pub fn next(&mut self, workspace: &mut Workspace) -> Result<Option<SeriesStep>, SeriesError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let mut against = UndoProblems {
            entry: entry.clone(),
            conflicts: Vec::new(),
            problems: Vec::new(),
            together: Vec::new(),
        };
        // The indices of files in which other edits remain.
        let mut beside: HashSet<usize> = HashSet::new();
        match serve(workspace, &entry) {
            Ok(()) if entry.files.iter().all(|file| self.is_restored(&entry, file) == Some(true)) => {}
            Ok(()) => match workspace.plan_undo(&entry.id, Control::of("undo")) {
                Ok(undone) => {
                    let files = undone.outcome.files.iter();
                    let files = files.filter(|file| file.warnings.contains(&Warning::BesideLaterEdits));
                    beside.extend(files.map(|file| file.entry));
                }
                Err(UndoError::Problems(problems)) => against = *problems,
                Err(error) => return Err(series_error(error, &entry.id)),
            },
            Err(SeriesError::Store(error)) => {
                against.problems.push(EditProblem { entry: 0, reason: Reason::Store(error) });
            }
            Err(error) => return Err(error),
        }
        self.leave_out_own(workspace, &mut against, &mut beside);
        self.add_others(workspace, &mut against, &beside);
        let is_blocked = !against.conflicts.is_empty() || !against.problems.is_empty();
        if !is_blocked {
            self.free.insert(entry.id.clone());
            // A file that moved occurs several times in `entry.files`.
            let is_whole = beside.is_empty();
            for file in &entry.files {
                let restored =
                    if is_whole { Restored::To(before(&entry, &file.path)) } else { Restored::Partly };
                self.restored.insert(file.path.clone(), restored);
            }
        }
        Ok(Some(SeriesStep { entry, against: is_blocked.then_some(against) }))
    }

    /// Whether a file will be as the edit left it, once the edits in `free` are taken back; `None` if none of
    /// them changed the file.
    fn is_restored(&self, entry: &Entry, file: &EntryFile) -> Option<bool> {
        let restored = self.restored.get(&file.path).filter(|_| file.kind != ChangeKind::Displaced)?;
        Some(*restored == Restored::To(entry.left_at(&file.path)))
    }

    /// Removes the obstacles that are gone once the edits in `free` are taken back.
    fn leave_out_own(&self, workspace: &Workspace, against: &mut UndoProblems, beside: &mut HashSet<usize>) {
        let UndoProblems { entry, conflicts, problems, .. } = against;
        let is_restored = |row: usize| entry.files.get(row).and_then(|file| self.is_restored(entry, file));
        conflicts.retain_mut(|conflict| {
            let all = conflict.by.len();
            conflict.by.retain(|by| !self.free.contains(by));
            let (is_own, is_restored) =
                (all > 0 && conflict.by.is_empty(), is_restored(conflict.file) == Some(true));
            if is_own && !is_restored {
                beside.insert(conflict.file);
            }
            if let Some(newest) = conflict.by.last().filter(|_| conflict.by.len() < all) {
                let entry = workspace.history().get(newest).ok().flatten().map(|(entry, _)| entry);
                conflict.later = Some(LaterEdit { entry, left_it_so: true });
            }
            !is_own && !is_restored
        });
        problems.retain(|problem| is_restored(problem.entry).is_none());
    }

    /// Adds conflicts for further files: those that will not be as the edit left them, once the edits in
    /// `free` are taken back.
    fn add_others(&self, workspace: &Workspace, against: &mut UndoProblems, beside: &HashSet<usize>) {
        let UndoProblems { entry, conflicts, .. } = against;
        for (row, file) in entry.files.iter().enumerate() {
            let is_first = row.checked_sub(1).and_then(|row| entry.files.get(row)).map(|file| &file.path)
                != Some(&file.path);
            let is_known = beside.contains(&row) || conflicts.iter().any(|conflict| conflict.file == row);
            if !is_first || is_known || self.is_restored(entry, file) != Some(false) {
                continue;
            }
            let now = match self.restored.get(&file.path) {
                Some(Restored::To(now)) => *now,
                _ => None,
            };
            let later = workspace.history().later(&entry.id, &file.path, now).ok().flatten();
            let later = later.map(|later| {
                let left_it_so = later.left_at(&file.path) == now;
                LaterEdit { entry: Some(later), left_it_so }
            });
            conflicts.push(Conflict { file: row, now, later, by: Vec::new() });
        }
    }
}

/// Returns the edits in the order in which they would be taken back, the newest first, each with its
/// obstacles.
pub fn plan(workspace: &mut Workspace, ids: &[EditId]) -> Result<Vec<SeriesStep>, SeriesError> {
    let (mut plan, mut steps) = (SeriesPlan::new(workspace, ids)?, Vec::new());
    while let Some(step) = plan.next(workspace)? {
        steps.push(step);
    }
    Ok(steps)
}

/// Plans as [`plan`] does, but adds later edits that are obstacles to the series.
pub fn plan_with_later(
    workspace: &mut Workspace,
    mut ids: Vec<EditId>,
) -> Result<Vec<SeriesStep>, SeriesError> {
    loop {
        let steps = plan(workspace, &ids)?;
        let against = steps.iter().filter_map(|step| step.against.as_ref());
        let mut later: Vec<EditId> = against.flat_map(|against| against.together.clone()).collect();
        later.retain(|later| !ids.contains(later));
        if later.is_empty() {
            return Ok(steps);
        }
        ids.append(&mut later);
    }
}

/// Takes one edit of a series back. The later edits of the series must have been taken back already.
pub fn take_back(workspace: &mut Workspace, entry: &Entry) -> Result<Undone, SeriesError> {
    serve(workspace, entry)?;
    workspace.recover();
    workspace.undo(&entry.id, Control::of("undo")).map_err(|error| match error {
        UndoError::Problems(found) => SeriesError::Problems(found),
        error => series_error(error, &entry.id),
    })
}

/// Selects the edits to take back to get the files as they were before all edits of the list, which has the
/// newest first: the oldest edit of each undo chain. If that edit is not in effect, it is left out, because
/// its files have that state already. The list can be filtered. Bytes that recovery kept are left out.
#[must_use]
pub fn in_effect(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut chains = HashSet::new();
    entries.reverse();
    entries.retain(|entry| chains.insert(entry.chain.clone()) && entry.is_undoable());
    entries.reverse();
    entries
}

/// Words the obstacles to an undo. The hints are for models: they name tools.
#[must_use]
pub fn worded(workspace: &Workspace, found: &UndoProblems) -> Vec<Problem> {
    let many_files = found.entry.files.len() > 1;
    let (limits, cancel) = (&Limits::default(), &Cancel::never());
    let state = workspace.state_directory();
    let offered = &ToolSet::default();
    let (tool, hashes) = (ToolId::Undo, Hashes::Short);
    let call = Call { tool, workspace, state, is_entry: false, many_files, limits, cancel, offered, hashes };
    undo_problems(call, found).into_iter().map(|(_, problem)| problem).collect()
}

/// Makes the workspace serve the files of an edit.
pub(super) fn serve(workspace: &mut Workspace, entry: &Entry) -> Result<(), SeriesError> {
    if let Some(root) = entry.files.iter().find_map(|file| file.root.clone()) {
        return Err(SeriesError::Elsewhere(entry.id.clone(), root));
    }
    Ok(workspace.serve_files_of(entry)?)
}

fn series_error(error: UndoError, id: &EditId) -> SeriesError {
    match error {
        UndoError::History(reason) => SeriesError::History(reason),
        UndoError::Displaced(_) => SeriesError::Displaced(id.clone()),
        UndoError::Problems(found) => SeriesError::Problems(found),
        UndoError::Unknown => SeriesError::Unknown(id.clone()),
    }
}

/// Returns the digest that a file had before an edit, in whose `files` it can occur several times; `None` if
/// the file did not exist.
fn before(entry: &Entry, path: &Path) -> Option<Digest> {
    let rows = || entry.files.iter().filter(|file| file.path == path);
    match rows().find(|file| file.kind == ChangeKind::Removed) {
        Some(gone) => gone.before,
        None => rows().next().and_then(|first| first.before),
    }
}
