//! Lists the states of a file, that is, its contents before and after each edit, and compares two of them.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_store::{ChangeKind, EditFilter, EditId, Entry, Workspace, path_in_history};
use serde_json::{Map, Value, json};

use super::past::{BoxedProblem, Past};
use crate::render::history::time;
use crate::render::past as words;
use crate::render::story;

/// The maximum number of edits whose states are listed. If a file has more, only the newest are listed.
const MAX_EDITS: usize = 500;
/// The id of the current state of a file.
const NOW: &str = "now";
/// The last part of the id of any other state, which is `EDIT.INDEX.SIDE`: it selects the contents before or
/// after the edit. The index is that of the file in the edit.
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Lists the states of a file, the newest first: the current one, then those after and before each edit.
/// Adjacent equal states are listed once. The list does not check whether the bytes of a state can still be
/// restored.
pub fn states(past: &Past, path: &str) -> Result<Value, BoxedProblem> {
    let mut workspace = past.workspace();
    let path = path_in_history(Path::new(path));
    let entries = edits_of(&workspace, &path)?;
    let mut states: Vec<Value> = Vec::new();
    let mut last: Option<Option<Digest>> = None;
    let mut put = |states: &mut Vec<Value>, digest: Option<Digest>, mut state: Map<String, Value>| {
        if last != Some(digest) {
            last = Some(digest);
            state.insert(
                "hash".to_owned(),
                json!(digest.map(|digest| digest.to_string()).unwrap_or_default()),
            );
            states.push(Value::Object(state));
        }
    };
    if let Some(newest) = entries.first() {
        let now = bytes_now(&mut workspace, newest, &path);
        let state = [("id", json!(NOW)), ("time", json!(time(newest.time))), ("now", json!(true))];
        put(&mut states, now.map(|bytes| Digest::of(&bytes)), state.map(own).into_iter().collect());
    }
    for entry in &entries {
        for (index, file) in entry.files.iter().enumerate().rev() {
            if file.path != path || file.kind == ChangeKind::Displaced {
                continue;
            }
            let state = |side| {
                let id = json!(format!("{}.{index}.{side}", entry.id));
                let fields =
                    [("id", id), ("time", json!(time(entry.time))), ("edit", json!(entry.id.to_string()))];
                fields.map(own).into_iter().collect::<Map<_, _>>()
            };
            let mut after = state(AFTER);
            after.insert("tool".to_owned(), json!(entry.tool));
            put(&mut states, file.after, after);
            put(&mut states, file.before, state(BEFORE));
        }
    }
    Ok(json!({ "states": states }))
}

/// Returns the difference between two states of a file.
pub fn difference(past: &Past, path: &str, from: &str, to: &str) -> Result<Value, BoxedProblem> {
    let mut workspace = past.workspace();
    let path = path_in_history(Path::new(path));
    let (before, _) = state(&mut workspace, &path, from)?;
    let (after, encoding) = state(&mut workspace, &path, to)?;
    Ok(story::difference(&path, encoding, [before.as_deref(), after.as_deref()]))
}

/// Returns at most `count` lines of a file as they were after an edit, from the line `start` on; the first
/// line is 1.
pub fn lines(past: &Past, path: &str, edit: &str, start: u64, count: u64) -> Result<Value, BoxedProblem> {
    let mut workspace = past.workspace();
    let path = path_in_history(Path::new(path));
    let id = EditId::parse(edit).ok_or_else(words::unknown)?;
    let unreadable = |reason| words::unreadable(workspace.state_directory(), &reason);
    let (entry, _) = workspace.history().get(&id).map_err(unreadable)?.ok_or_else(words::unknown)?;
    let index = entry.files.iter().rposition(|file| file.path == path).ok_or_else(words::no_state)?;
    let (after, encoding) = state(&mut workspace, &path, &format!("{id}.{index}.{AFTER}"))?;
    let lines = LineRange::new(LineNumber::new(start).ok_or_else(words::no_state)?, count);
    Ok(json!({ "lines": story::lines(&after.unwrap_or_default(), encoding, lines) }))
}

fn own((key, value): (&str, Value)) -> (String, Value) {
    (key.to_owned(), value)
}

fn edits_of(workspace: &Workspace, path: &Path) -> Result<Vec<Entry>, BoxedProblem> {
    let found =
        workspace.history().find(&EditFilter::of_path(Some(path)), MAX_EDITS, &|entry| is_of(entry, path));
    found.map_err(|reason| words::unreadable(workspace.state_directory(), &reason))
}

fn is_of(entry: &Entry, path: &Path) -> bool {
    entry.files.iter().any(|file| file.path == path)
}

/// Returns the contents of a file in a state, and the encoding that the state's edit recorded; for the
/// current state, that of the newest edit.
fn state(
    workspace: &mut Workspace,
    path: &Path,
    id: &str,
) -> Result<(Option<Vec<u8>>, Encoding), BoxedProblem> {
    if id == NOW {
        let entries = edits_of(workspace, path)?;
        let newest = entries.first().ok_or_else(words::no_state)?;
        let file = newest.files.iter().rfind(|file| file.path == path);
        let encoding = file.map_or(Encoding::Utf8, |file| file.encoding);
        return Ok((bytes_now(workspace, newest, path), encoding));
    }
    let (edit, index, is_before) = edit_of(id).ok_or_else(words::no_state)?;
    let unreadable = |workspace: &Workspace, reason| words::unreadable(workspace.state_directory(), &reason);
    let entry = workspace.history().get(&edit).map_err(|reason| unreadable(workspace, reason))?;
    let (entry, _) = entry.ok_or_else(words::no_state)?;
    let file = entry.files.get(index).filter(|file| file.path == path).ok_or_else(words::no_state)?;
    serve(workspace, &entry)?;
    let states = workspace.states(&edit, index).map_err(|reason| unreadable(workspace, reason))?;
    let states = states.ok_or_else(words::lost_state)?;
    Ok((if is_before { states.before } else { states.after }, file.encoding))
}

/// Parses the id of a state. Returns the edit, the index of the file in the edit, and whether the state is
/// the one before the edit. Returns `None` if the text does not have this form, as `now` does not.
fn edit_of(id: &str) -> Option<(EditId, usize, bool)> {
    let (edit, rest) = id.split_once('.')?;
    let (index, side) = rest.split_once('.')?;
    let is_before = side == BEFORE;
    (is_before || side == AFTER).then_some((EditId::parse(edit)?, index.parse().ok()?, is_before))
}

fn serve(workspace: &mut Workspace, entry: &Entry) -> Result<(), BoxedProblem> {
    if let Some(root) = entry.files.iter().find_map(|file| file.root.as_deref()) {
        return Err(words::elsewhere(&entry.id, root));
    }
    workspace.serve_files_of([entry]).map_err(|error| words::not_opened(&error.to_string()))
}

/// Returns the current bytes of a file; `None` if it does not exist or cannot be read.
fn bytes_now(workspace: &mut Workspace, entry: &Entry, path: &Path) -> Option<Vec<u8>> {
    serve(workspace, entry).ok()?;
    workspace.bytes_of(path)
}
