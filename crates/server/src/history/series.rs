//! Takes several past edits back, the newest first, in one transaction. This is for a person, so roots do not
//! restrict it.

use std::collections::HashSet;
use std::path::Path;

use mcp_text_editor_store::{
    Control, EditId, EditProblem, Entry, NotKept, Reason, StoreError, UndoError, UndoPlan, UndoProblems,
    Undone, Workspace,
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

/// Checks the edits of a series, the newest first, for obstacles to taking them back. Writes nothing. A later
/// edit is an obstacle to an older one only if it is not in the series, or cannot be taken back itself.
#[derive(Debug)]
pub struct SeriesPlan {
    entries: std::vec::IntoIter<Entry>,
    /// Edits that were checked, at least one of each root: an older edit can find their files in another
    /// root.
    served: Vec<Entry>,
    undos: UndoPlan,
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
        Ok(Self { entries: entries.into_iter(), served: Vec::new(), undos: UndoPlan::default() })
    }

    /// Checks the next edit; `None` after the last one.
    pub fn next(&mut self, workspace: &mut Workspace) -> Result<Option<SeriesStep>, SeriesError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let served = serve(workspace, self.served.iter().chain([&entry]));
        let undo = served.and_then(|()| plan_undo(workspace, &mut self.undos, &entry));
        let against = match undo {
            Ok(()) => {
                let roots = |entry: &Entry| -> HashSet<_> {
                    entry
                        .files
                        .iter()
                        .map(|file| (file.root_directory(), file.path.parent().map(Path::to_owned)))
                        .collect()
                };
                if !self.served.iter().any(|served| roots(&entry).is_subset(&roots(served))) {
                    self.served.push(entry.clone());
                }
                None
            }
            Err(SeriesError::Problems(found)) => Some(*found),
            Err(SeriesError::Store(error)) => {
                let problems = vec![EditProblem { entry: 0, reason: Reason::Store(error) }];
                let (conflicts, together) = (Vec::new(), Vec::new());
                Some(UndoProblems { entry: entry.clone(), conflicts, problems, together })
            }
            Err(error) => return Err(error),
        };
        Ok(Some(SeriesStep { entry, against }))
    }
}

fn plan_undo(workspace: &Workspace, undos: &mut UndoPlan, entry: &Entry) -> Result<(), SeriesError> {
    let planned = workspace.plan_next_undo(undos, &entry.id, Control::of("undo"));
    planned.map_err(|error| series_error(error, &entry.id))
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

/// The maximum number of files, summed over the edits, in one transaction.
const MAX_FILES: usize = 1_000;

/// Takes the first edits of a series back, all or none: as many as one transaction can hold, at least one.
/// The later edits of the series must have been taken back already.
pub fn take_back(workspace: &mut Workspace, series: &[SeriesStep]) -> Result<Vec<Undone>, SeriesError> {
    let mut files = 0;
    let fits = |entry: &&Entry| {
        files += entry.files.len();
        files == entry.files.len() || files <= MAX_FILES
    };
    let entries: Vec<&Entry> = series.iter().map(|step| &step.entry).take_while(fits).collect();
    serve(workspace, entries.iter().copied())?;
    workspace.recover();
    let mut undos = UndoPlan::default();
    for entry in &entries {
        plan_undo(workspace, &mut undos, entry)?;
    }
    let done = workspace.make_undos(undos, Control::of("undo"));
    done.map_err(|error| match entries.first() {
        Some(first) => series_error(error, &first.id),
        None => SeriesError::History(NotKept::Off),
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

/// Makes the workspace serve the files of these edits.
pub(super) fn serve<'e>(
    workspace: &mut Workspace,
    entries: impl IntoIterator<Item = &'e Entry> + Clone,
) -> Result<(), SeriesError> {
    for entry in entries.clone() {
        if let Some(root) = entry.files.iter().find_map(|file| file.root.clone()) {
            return Err(SeriesError::Elsewhere(entry.id.clone(), root));
        }
    }
    Ok(workspace.serve_files_of(entries)?)
}

fn series_error(error: UndoError, id: &EditId) -> SeriesError {
    match error {
        UndoError::History(reason) => SeriesError::History(reason),
        UndoError::Displaced(_) => SeriesError::Displaced(id.clone()),
        UndoError::Problems(found) => SeriesError::Problems(found),
        UndoError::Unknown => SeriesError::Unknown(id.clone()),
    }
}
