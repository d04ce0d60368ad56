//! Takes past edits back from a page, or shows what that would change.

use std::collections::BTreeSet;

use mcp_text_editor_store::{EditId, Edited, Entry, EntryFile, KnownStates, Undone, Workspace};
use serde_json::{Value, json};

use super::find::{EditQuery, find};
use super::past::{BoxedProblem, Past, of_entry};
use super::series::{self, SeriesError, SeriesPlan, SeriesStep};
use crate::problem::{Failure, Problem};
use crate::render::escape::shown;
use crate::render::past::turned;
use crate::render::{past as words, story};
use crate::tool_id::ToolId;

/// The maximum number of edits that are taken back at once.
const MAX_EDITS: usize = 1_000;
/// The maximum number of edits that a lookup reads: more than `MAX_EDITS`, since some may already have been
/// taken back.
const MAX_SINCE: usize = 4 * MAX_EDITS;
/// The maximum bytes of the stories of a response. Beyond it, a story has only the number of files.
const MAX_BYTES: usize = 8 << 20;

/// A request to take edits back, or to show what that would change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakeBack {
    /// The edits.
    pub which: Which,
    /// Whether to write nothing.
    pub is_dry_run: bool,
}

/// The edits that a request names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// These edits.
    These(Vec<EditId>),
    /// This edit and all later edits, as far as they match the query and are in effect.
    Since(EditId, EditQuery),
}

/// The result of taking edits back, or of a dry run.
#[derive(Clone, PartialEq, Debug)]
pub struct TakenBack {
    /// The edits, each with its story, in the order in which they are taken back: the newest first.
    pub results: Value,
    /// Whether all edits can be undone, and no undo failed.
    pub is_free: bool,
}

/// Takes edits back, the newest first. If any of them has a conflict, takes none back, and the stories of the
/// edits with conflicts are failures. If a transaction fails later, the transactions before it remain.
///
/// Calls `done` after each check of an edit, with the number of checked edits, and after each transaction,
/// with the number of undone edits. The second argument is the number of all edits. Once `done` returns
/// false, no further transaction is begun.
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
    if ids.len() > MAX_EDITS {
        return Err(words::too_many(MAX_EDITS));
    }
    let all = ids.len();
    let mut is_wanted = true;
    let plan = {
        let workspace = past.workspace();
        SeriesPlan::new(&workspace, &ids).map_err(|error| fault(&workspace, error))
    };
    let (mut plan, mut steps) = (plan?, Vec::new());
    // The workspace is unlocked after each edit, so that other requests need not wait for the whole series.
    loop {
        let mut workspace = past.workspace();
        let step = plan.next(&mut workspace).map_err(|error| fault(&workspace, error))?;
        let Some(step) = step else { break };
        steps.push(step);
        drop(workspace);
        is_wanted = is_wanted && done(steps.len(), all);
    }
    let is_free = steps.iter().all(|step| step.against.is_none());
    let mut results = Results { past, rows: Vec::new(), left: MAX_BYTES };
    if request.is_dry_run || !is_free {
        let mut known = KnownStates::default();
        for SeriesStep { entry, against } in &steps {
            let mut workspace = past.workspace();
            let story = if let Some(found) = against {
                failure(series::worded(&workspace, found))
            } else {
                // If this fails, the story only lacks some data.
                let _ = series::serve(&mut workspace, [entry]);
                turned(of_entry(&workspace, entry, false, &mut known))
            };
            results.put(entry, story);
        }
        return Ok(results.taken(is_free));
    }
    let mut rest = &*steps;
    while let Some(next) = rest.first() {
        let mut workspace = past.workspace();
        let undone = if is_wanted { series::take_back(&mut workspace, rest) } else { Ok(Vec::new()) };
        let reloaded = |entry: &Entry| match workspace.history().get(&entry.id) {
            Ok(Some((entry, _))) => entry,
            _ => entry.clone(),
        };
        let (entry, problems) = match undone {
            Ok(undone) if !undone.is_empty() => {
                for undone in &undone {
                    results.put(&reloaded(&undone.entry), story_of(&workspace, past, undone));
                }
                rest = rest.get(undone.len()..).unwrap_or_default();
                drop(workspace);
                is_wanted = done(all - rest.len(), all) && is_wanted;
                continue;
            }
            Ok(_) => (next.entry.clone(), vec![words::stopped()]),
            Err(SeriesError::Problems(found)) => (found.entry.clone(), series::worded(&workspace, &found)),
            Err(error) => (next.entry.clone(), vec![*fault(&workspace, error)]),
        };
        results.put(&reloaded(&entry), failure(problems));
        return Ok(results.taken(false));
    }
    Ok(results.taken(true))
}

/// Returns the edits from `since` on that match the query and are in effect, the newest first.
fn in_effect_since(
    past: &Past,
    workspace: &Workspace,
    since: &EditId,
    wanted: &EditQuery,
) -> Result<Vec<EditId>, BoxedProblem> {
    let unreadable = |reason| words::unreadable(workspace.state_directory(), &reason);
    let (first, _) = workspace.history().get(since).map_err(unreadable)?.ok_or_else(words::unknown)?;
    let wanted = EditQuery { limit: MAX_SINCE, since: wanted.since.max(Some(first.time)), ..wanted.clone() };
    let (mut entries, more) = find(workspace, &past.scope, &wanted).map_err(unreadable)?;
    if more.is_some() {
        return Err(words::too_many(MAX_EDITS));
    }
    // Edits that precede `since`, but have the same time, are not taken back.
    if let Some(at) = entries.iter().position(|entry| entry.id == first.id) {
        entries.truncate(at + 1);
    }
    Ok(series::in_effect(entries).into_iter().map(|entry| entry.id).collect())
}

/// Returns the story of an undo.
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
        // Hints name tools, and a person at a page cannot call tools.
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

/// The response, as far as it is built.
struct Results<'a> {
    past: &'a Past,
    rows: Vec<Value>,
    left: usize,
}

impl Results<'_> {
    fn put(&mut self, entry: &Entry, mut story: Value) {
        let edit = story::row(entry, self.past.can_undo(entry));
        // The response names all roots, even if it does not name all files.
        let roots = entry.files.iter().filter_map(EntryFile::root_directory);
        let roots: BTreeSet<String> = roots.map(|root| shown(&root)).collect();
        match self.left.checked_sub(story.to_string().len()) {
            Some(left) => self.left = left,
            None => without_files(&mut story),
        }
        self.rows.push(json!({"edit": edit, "roots": roots, "story": story}));
    }

    fn taken(self, is_free: bool) -> TakenBack {
        TakenBack { results: json!({"results": self.rows}), is_free }
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
    use std::path::Path;
    use std::sync::mpsc;
    use std::time::Duration;

    use mcp_text_editor_store::{Change, Control, EditFilter, FileEdit, HistorySettings, WorkspaceBuilder};

    use super::*;
    use crate::history::newest;

    #[test]
    fn other_requests_have_their_turns_between_two_edits() {
        let [root, state] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let workspace = || {
            let builder = WorkspaceBuilder::default().root(root.path()).state_directory(state.path());
            builder.history(HistorySettings::default()).build().unwrap()
        };
        let edits = ["a", "b"].map(|name| {
            let path = root.path().join(name);
            let edit = FileEdit::new(path.to_str().unwrap(), Change::Create("text\n"));
            workspace().apply(&[edit], Control::of("test")).unwrap().edit_id.unwrap()
        });
        let past = Past::new(workspace(), EditFilter::default(), Vec::new());
        for is_dry_run in [true, false] {
            let request = TakeBack { which: Which::These(edits.to_vec()), is_dry_run };
            let (sender, receiver) = mpsc::channel();
            std::thread::scope(|scope| {
                let mut between = |_, _| {
                    let (past, sender) = (&past, sender.clone());
                    scope.spawn(move || sender.send(newest(past).is_ok()));
                    receiver.recv_timeout(Duration::from_mins(1)).unwrap()
                };
                assert!(take_back(&past, &request, &mut between).unwrap().is_free);
            });
        }
        assert!(!root.path().join("a").exists() && !root.path().join("b").exists());
    }

    #[test]
    fn a_file_that_moved_to_another_root_is_found_there() {
        let [one, other, state] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let roots = [one.path(), other.path()].map(|root| root.canonicalize().unwrap());
        let builder =
            WorkspaceBuilder::default().root(&roots[0]).root(&roots[1]).state_directory(state.path());
        let workspace = builder.history(HistorySettings::default()).build().unwrap();
        let [from, to] = [roots[0].join("a"), roots[1].join("b")];
        let apply = |path: &Path, change| {
            let edit = FileEdit::new(path.to_str().unwrap(), change);
            workspace.apply(&[edit], Control::of("test")).unwrap().edit_id.unwrap()
        };
        let first = apply(&from, Change::Create("text\n"));
        let moved = apply(&from, Change::Move { to: to.to_str().unwrap(), patches: &[] });
        let past = Past::new(workspace, EditFilter::default(), Vec::new());
        let steps = series::plan_with_later(&mut past.workspace(), vec![first.clone()]).unwrap();
        let planned = steps.iter().map(|step| (&step.entry.id, step.against.is_none())).collect::<Vec<_>>();
        assert_eq!(planned, [(&moved, true), (&first, true)]);
        let request = TakeBack { which: Which::These(vec![first, moved]), is_dry_run: false };
        let taken = take_back(&past, &request, &mut |_, _| true).unwrap();
        assert!(taken.is_free && !from.exists() && !to.exists(), "{taken:?}");
    }
}
