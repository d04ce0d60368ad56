//! Takes several past edits back, the newest first, after checking all of them for obstacles. This is for a
//! person, whom no roots restrict.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::{
    ChangeKind, Conflict, Control, EditId, EditProblem, Entry, EntryFile, LaterEdit, NotKept, Reason,
    StoreError, UndoError, UndoProblems, Undone, Workspace,
};

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::render::edit::Hashes;
use crate::render::explain::Call;
use crate::render::history::undo_problems;
use crate::tool_id::ToolId;

/// An edit that is to be taken back.
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
    /// No such edit is kept.
    #[error("no edit {0} is kept")]
    Unknown(EditId),
    /// The id is not of an edit, but of bytes that recovery kept, which are not put back.
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

/// Checks a series of edits, the newest first, for obstacles to taking them back. Writes nothing.
///
/// The history knows the digest that each file will have once the later edits of the series are taken back.
/// So a later edit is an obstacle to an older one only if it is not in the series, or cannot be taken back
/// itself. All else that an undo checks, such as permissions, is checked on the disk as it is now, once for
/// each file.
#[derive(Debug)]
pub struct SeriesPlan {
    entries: std::vec::IntoIter<Entry>,
    /// The digests that files will have once the edits that were checked so far are taken back.
    restored: HashMap<PathBuf, Option<Digest>>,
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
        Ok(Self { entries: entries.into_iter(), restored: HashMap::new() })
    }

    /// Checks the next edit; `None` after the last one.
    pub fn next(&mut self, workspace: &mut Workspace) -> Result<Option<SeriesStep>, SeriesError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let is_restored =
            |file: &EntryFile| self.restored.contains_key(&file.path) && file.kind != ChangeKind::Displaced;
        let against = |problems| UndoProblems { entry: entry.clone(), conflicts: Vec::new(), problems };
        let against = match serve(workspace, &entry) {
            Ok(()) if entry.files.iter().all(is_restored) => against(Vec::new()),
            Ok(()) => match workspace.plan_undo(&entry.id, Control::of("undo")) {
                Ok(_) => against(Vec::new()),
                Err(UndoError::Problems(found)) => *found,
                Err(error) => return Err(other(error, &entry.id)),
            },
            Err(SeriesError::Store(error)) => {
                against(vec![EditProblem { entry: 0, reason: Reason::Store(error) }])
            }
            Err(error) => return Err(error),
        };
        let against = beyond(workspace, against, &self.restored);
        let is_blocked = !against.conflicts.is_empty() || !against.problems.is_empty();
        if !is_blocked {
            let paths = entry.files.iter().map(|file| file.path.clone());
            self.restored.extend(paths.map(|path| (path.clone(), before(&entry, &path))));
        }
        Ok(Some(SeriesStep { entry, against: is_blocked.then_some(against) }))
    }
}

/// Returns the edits in the order in which they would be taken back, the newest first. Each has its
/// obstacles.
pub fn plan(workspace: &mut Workspace, ids: &[EditId]) -> Result<Vec<SeriesStep>, SeriesError> {
    let (mut plan, mut steps) = (SeriesPlan::new(workspace, ids)?, Vec::new());
    while let Some(step) = plan.next(workspace)? {
        steps.push(step);
    }
    Ok(steps)
}

/// Takes one edit of a series back. Those before it in the series must have been taken back already.
pub fn take_back(workspace: &mut Workspace, entry: &Entry) -> Result<Undone, SeriesError> {
    serve(workspace, entry)?;
    workspace.recover();
    workspace.undo(&entry.id, Control::of("undo")).map_err(|error| match error {
        UndoError::Problems(found) => SeriesError::Problems(found),
        error => other(error, &entry.id),
    })
}

/// Selects the edits to take back so that the files are as they were before all edits of the list, which has
/// the newest first. These are the oldest edits of each undo chain that are in effect: if one is not, its
/// files have that state already. The list may be filtered. Leaves out bytes that recovery kept.
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

fn other(error: UndoError, id: &EditId) -> SeriesError {
    match error {
        UndoError::History(reason) => SeriesError::History(reason),
        UndoError::Displaced(_) => SeriesError::Displaced(id.clone()),
        UndoError::Problems(found) => SeriesError::Problems(found),
        UndoError::Unknown => SeriesError::Unknown(id.clone()),
    }
}

/// Returns the obstacles to an edit that remain once the files in `restored` have the digests there.
fn beyond(
    workspace: &Workspace,
    found: UndoProblems,
    restored: &HashMap<PathBuf, Option<Digest>>,
) -> UndoProblems {
    let UndoProblems { entry, conflicts, problems } = found;
    let path = |file: usize| entry.files.get(file).map(|file| file.path.as_path());
    let is_restored = |file: usize| path(file).is_some_and(|path| restored.contains_key(path));
    let mut conflicts: Vec<Conflict> =
        conflicts.into_iter().filter(|conflict| !is_restored(conflict.file)).collect();
    let problems = problems.into_iter().filter(|problem| !is_restored(problem.entry)).collect();
    for (file, row) in entry.files.iter().enumerate() {
        let is_first = path(file) != file.checked_sub(1).and_then(path);
        if let Some(now) = restored.get(&row.path).filter(|now| is_first && **now != entry.left_at(&row.path))
        {
            let later = workspace.history().later(&entry.id, &row.path, *now).ok().flatten();
            let later = later.map(|later| {
                let left_it_so = later.left_at(&row.path) == *now;
                LaterEdit { entry: Some(later), left_it_so }
            });
            conflicts.push(Conflict { file, now: *now, later });
        }
    }
    UndoProblems { entry, conflicts, problems }
}

/// Returns the digest that a file had before an edit, which may have several rows for it; `None` if there was
/// no such file.
fn before(entry: &Entry, path: &Path) -> Option<Digest> {
    let rows = || entry.files.iter().filter(|file| file.path == path);
    match rows().find(|file| file.kind == ChangeKind::Removed) {
        Some(gone) => gone.before,
        None => rows().next().and_then(|first| first.before),
    }
}
