//! Takes past edits back from a page, or shows what that would change.

use std::collections::BTreeSet;

use mcp_text_editor_store::{EditId, Edited, Entry, EntryFile, KnownStates, Undone, Workspace};
use serde_json::{Value, json};

use super::find::{EditQuery, find};
use super::open::{BoxedProblem, Past};
use crate::actions::series::{self, SeriesError, SeriesPlan, SeriesStep};
use crate::actions::story::of_entry;
use crate::problem::{Failure, Problem};
use crate::render::past as words;
use crate::render::paths::shown;
use crate::render::story;
use crate::render::turned::turned;
use crate::tool_id::ToolId;

/// The most edits that are taken back at once.
const MOST: usize = 1_000;
/// The most edits since a moment that are read: more than `MOST`, since some may have been taken back
/// already.
const MOST_SINCE: usize = 4 * MOST;
/// The most bytes of the stories of an answer. A story beyond that only counts its files.
const MOST_BYTES: usize = 8 << 20;

/// The edits to take back, and whether only to show what that would change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakeBack {
    /// The edits.
    pub which: Which,
    /// Whether to write nothing.
    pub is_dry_run: bool,
}

/// The ways to name edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// These edits.
    These(Vec<EditId>),
    /// This edit and all later ones, as far as they meet the conditions and are in effect.
    Since(EditId, EditQuery),
}

/// The result of taking edits back, or of a dry run.
#[derive(Clone, PartialEq, Debug)]
pub struct TakenBack {
    /// Each edit with its story, in the order in which they are taken back: the newest first.
    pub results: Value,
    /// Whether all edits can be undone, and nothing failed.
    pub is_free: bool,
}

/// Takes edits back, the newest first. If there is an obstacle to one of them, none is taken back, and the
/// stories of those with obstacles are failures. If one fails later, the ones before it stay taken back.
///
/// `done` is called with the number of edits that were checked, and afterwards taken back, and with the
/// number of all. Once it returns false, no further edit is begun.
pub fn take_back(
    past: &Past,
    request: &TakeBack,
    done: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<TakenBack, BoxedProblem> {
    if past.is_read_only {
        return Err(words::read_only());
    }
    let ids = match &request.which {
        Which::These(ids) => ids.clone(),
        Which::Since(since, wanted) => in_effect_since(past, &past.workspace(), since, wanted)?,
    };
    if ids.len() > MOST {
        return Err(words::too_many(MOST));
    }
    let all = ids.len();
    let mut is_wanted = true;
    let plan = {
        let workspace = past.workspace();
        SeriesPlan::new(&workspace, &ids).map_err(|error| fault(&workspace, error))
    };
    let (mut plan, mut steps) = (plan?, Vec::new());
    // Other requests have their turns between two edits.
    loop {
        let mut workspace = past.workspace();
        let step = plan.next(&mut workspace).map_err(|error| fault(&workspace, error))?;
        let Some(step) = step else { break };
        steps.push(step);
        drop(workspace);
        is_wanted = is_wanted && done(steps.len(), all);
    }
    let is_free = steps.iter().all(|step| step.against.is_none());
    let mut results = Results { past, told: Vec::new(), left: MOST_BYTES };
    if request.is_dry_run || !is_free {
        let mut known = KnownStates::default();
        for SeriesStep { entry, against } in &steps {
            let mut workspace = past.workspace();
            let told = if let Some(found) = against {
                failure(series::worded(&workspace, found))
            } else {
                // Where that fails the story has less.
                let _ = series::serve(&mut workspace, entry);
                turned(of_entry(&workspace, entry, false, &mut known))
            };
            results.put(entry, told);
        }
        return Ok(results.taken(is_free));
    }
    for (count, SeriesStep { entry, .. }) in steps.iter().enumerate() {
        let mut workspace = past.workspace();
        let undone =
            if is_wanted { Ok(series::take_back(&mut workspace, entry)) } else { Err(words::stopped()) };
        let told = match undone {
            Err(stopped) => Err(vec![stopped]),
            Ok(Ok(undone)) => Ok(undone),
            Ok(Err(SeriesError::Problems(found))) => Err(series::worded(&workspace, &found)),
            Ok(Err(error)) => Err(vec![*fault(&workspace, error)]),
        };
        let now = |entry: &Entry| match workspace.history().get(&entry.id) {
            Ok(Some((entry, _))) => entry,
            _ => entry.clone(),
        };
        match told {
            Ok(undone) => results.put(&now(entry), story_of(&workspace, past, &undone)),
            Err(problems) => {
                results.put(&now(entry), failure(problems));
                return Ok(results.taken(false));
            }
        }
        drop(workspace);
        is_wanted = done(count + 1, all) && is_wanted;
    }
    Ok(results.taken(true))
}

/// Returns the edits from `since` on that meet the conditions and are in effect, the newest first.
fn in_effect_since(
    past: &Past,
    workspace: &Workspace,
    since: &EditId,
    wanted: &EditQuery,
) -> Result<Vec<EditId>, BoxedProblem> {
    let unreadable = |reason| words::unreadable(workspace.state_directory(), &reason);
    let (first, _) = workspace.history().get(since).map_err(unreadable)?.ok_or_else(words::unknown)?;
    let wanted = EditQuery { limit: MOST_SINCE, since: wanted.since.max(Some(first.time)), ..wanted.clone() };
    let (mut entries, more) = find(workspace, &past.scope, &wanted).map_err(unreadable)?;
    if more.is_some() {
        return Err(words::too_many(MOST));
    }
    // Edits of the same moment that were made before it are not taken back.
    if let Some(at) = entries.iter().position(|entry| entry.id == first.id) {
        entries.truncate(at + 1);
    }
    Ok(series::in_effect(entries).into_iter().map(|entry| entry.id).collect())
}

/// Returns the story of the edit that took another one back.
fn story_of(workspace: &Workspace, past: &Past, undone: &Undone) -> Value {
    let by = undone.outcome.edit_id.as_ref().and_then(|id| workspace.history().get(id).ok().flatten());
    if let Some((by, _)) = by {
        return of_entry(workspace, &by, past.can_undo(&by), &mut KnownStates::default());
    }
    let paths: Vec<String> = undone.entry.files.iter().map(|file| shown(&file.path)).collect();
    let name = |edited: &Edited| paths.get(edited.entry).map(String::as_str).unwrap_or_default();
    story::outcome(ToolId::Undo, &undone.outcome, name, false)
}

fn failure(mut problems: Vec<Problem>) -> Value {
    for problem in &mut problems {
        // Hints are for models: they name tools.
        problem.hint.clear();
    }
    story::failure(&Failure { problems, suggestion: String::new(), editing: true })
}

fn fault(workspace: &Workspace, error: SeriesError) -> BoxedProblem {
    match error {
        SeriesError::Unknown(_) => words::unknown(),
        SeriesError::Displaced(id) => words::displaced(&id),
        SeriesError::Elsewhere(id, root) => words::elsewhere(&id, &root),
        SeriesError::History(reason) => words::unreadable(workspace.state_directory(), &reason),
        error @ (SeriesError::Store(_) | SeriesError::Problems(_)) => words::not_opened(&error.to_string()),
    }
}

/// The answer, while it is built.
struct Results<'a> {
    past: &'a Past,
    told: Vec<Value>,
    left: usize,
}

impl Results<'_> {
    fn put(&mut self, entry: &Entry, mut told: Value) {
        let edit = story::row(entry, self.past.can_undo(entry));
        // All roots are named, also where not all files are.
        let roots = entry.files.iter().filter_map(EntryFile::root_directory);
        let roots: BTreeSet<String> = roots.map(|root| shown(&root)).collect();
        match self.left.checked_sub(told.to_string().len()) {
            Some(left) => self.left = left,
            None => without_files(&mut told),
        }
        self.told.push(json!({"edit": edit, "roots": roots, "story": told}));
    }

    fn taken(self, is_free: bool) -> TakenBack {
        TakenBack { results: json!({"results": self.told}), is_free }
    }
}

fn without_files(story: &mut Value) {
    let Some(story) = story.as_object_mut() else { return };
    let files = story.insert("files".to_owned(), json!([]));
    let here = files.as_ref().and_then(Value::as_array).map_or(0, Vec::len) as u64;
    let more = story.get("moreFiles").and_then(Value::as_u64).unwrap_or_default();
    story.insert("moreFiles".to_owned(), json!(here + more));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use mcp_text_editor_store::{Change, Control, EditFilter, FileEdit, HistorySettings, WorkspaceBuilder};

    use super::*;
    use crate::actions::past::newest;

    #[test]
    fn other_requests_have_their_turns_between_two_edits() {
        let [root, state] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let workspace = || {
            let builder = WorkspaceBuilder::default().root(root.path()).state_directory(state.path());
            builder.history(HistorySettings::default()).build().unwrap()
        };
        let made = ["a", "b"].map(|name| {
            let path = root.path().join(name);
            let edit = FileEdit::new(path.to_str().unwrap(), Change::Create("text\n"));
            workspace().apply(&[edit], Control::of("test")).unwrap().edit_id.unwrap()
        });
        let past = Past::new(workspace(), EditFilter::default(), Vec::new());
        for is_dry_run in [true, false] {
            let request = TakeBack { which: Which::These(made.to_vec()), is_dry_run };
            let (told, heard) = mpsc::channel();
            std::thread::scope(|scope| {
                let mut between = |_, _| {
                    let (past, told) = (&past, told.clone());
                    scope.spawn(move || told.send(newest(past).is_ok()));
                    heard.recv_timeout(Duration::from_mins(1)).unwrap()
                };
                assert!(take_back(&past, &request, &mut between).unwrap().is_free);
            });
        }
        assert!(!root.path().join("a").exists() && !root.path().join("b").exists());
    }
}
