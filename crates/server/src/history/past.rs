//! Opens the history for a page ([`Past`]). Returns the story of an edit, the id of the newest edit, and the
//! data of an exported page.
//!
//! Lists the states of a file, that is, its contents before and after each edit, and compares two of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_store::{
    ChangeKind, EditFilter, EditId, Entry, KnownStates, NotKept, Workspace, path_in_history,
};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex as FairMutex, MutexGuard};

use crate::context::SHOWN;
use crate::problem::Problem;
use crate::render::escape::shown;
use crate::render::history::time;
use crate::render::{past as words, story};

/// The maximum bytes of the stories of an exported page.
const MAX_BYTES: usize = 16 << 20;
/// The maximum number of edits that are in memory at once while names are collected.
const PAGE: usize = 200;
/// The number of edits after which a search stops. If more edits are left, the answer says where to continue.
pub(super) const LOOKED_AT: usize = 20_000;
/// The maximum number of roots that are collected, and the same for tools and for clients.
const MAX_NAMES: usize = 1_000;

/// The reason why a request is not carried out.
pub type BoxedProblem = Box<Problem>;

/// The history that a person looks at. Requests take turns: a long one releases the workspace after each
/// edit.
#[derive(Debug)]
pub struct Past {
    /// The mutex is fair: the request that has waited longest is next.
    workspace: FairMutex<Workspace>,
    /// The filter of every list, in addition to the filter of the request.
    pub(super) scope: EditFilter,
    pub(super) makers: Mutex<Makers>,
    pub(super) is_read_only: bool,
    /// The notes for the person, which each list carries.
    pub(super) notes: Vec<String>,
}

impl Past {
    /// Makes the history of a workspace that serves no file yet. Lists have only edits that pass `scope`, and
    /// carry `notes` for the person. If the workspace is read-only, no edit can be taken back.
    #[must_use]
    pub fn new(workspace: Workspace, scope: EditFilter, notes: Vec<String>) -> Self {
        let is_read_only = workspace.is_read_only();
        Self { workspace: FairMutex::new(workspace), scope, makers: Mutex::default(), is_read_only, notes }
    }

    /// Tells whether this program can take an edit back, on this machine.
    pub(super) fn can_undo(&self, entry: &Entry) -> bool {
        !self.is_read_only && entry.files.iter().all(|file| file.root.is_none())
    }

    /// Waits for the workspace. Must not be called on a thread of the async runtime. Other requests change
    /// the files that the workspace serves, so the caller must call [`Workspace::serve_files_of`] anew.
    pub(super) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.blocking_lock()
    }
}

/// The names of the roots, tools and clients of the newest edits (`LOOKED_AT` of them). Names are never
/// removed, even if the history has deleted their edits.
#[derive(Default, Debug)]
pub(super) struct Makers {
    /// The newest edit whose names were added.
    newest: Option<EditId>,
    roots: BTreeSet<String>,
    tools: BTreeSet<String>,
    clients: BTreeSet<String>,
}

impl Makers {
    /// Adds the names from edits since the last call.
    pub(super) fn update(&mut self, workspace: &Workspace, scope: &EditFilter) -> Result<(), NotKept> {
        let mut filter = scope.clone();
        let (mut newest, mut looked_at) = (None, 0);
        loop {
            let limit = if newest.is_none() { 1 } else { PAGE };
            let entries = workspace.history().find(&filter, limit, &|_| true)?;
            newest = newest.or_else(|| entries.first().map(|entry| entry.id.clone()));
            let new = entries.iter().take_while(|entry| self.newest.as_ref() != Some(&entry.id)).count();
            entries.iter().take(new).for_each(|entry| self.add(entry));
            looked_at += new;
            if new < limit || looked_at >= LOOKED_AT {
                self.newest = newest;
                return Ok(());
            }
            filter.before = entries.last().map(|entry| entry.id.clone());
        }
    }

    fn add(&mut self, entry: &Entry) {
        for file in &entry.files {
            if let Some(root) = file.root_directory() {
                put(&mut self.roots, shown(&root));
            }
        }
        put(&mut self.tools, entry.tool.clone());
        if let Some(client) = &entry.client {
            put(&mut self.clients, client.clone());
        }
    }

    pub(super) fn write(&self, out: &mut Map<String, Value>) {
        for (key, names) in [("roots", &self.roots), ("tools", &self.tools), ("clients", &self.clients)] {
            out.insert(key.to_owned(), json!(names));
        }
    }
}

fn put(names: &mut BTreeSet<String>, name: String) {
    if names.len() < MAX_NAMES {
        names.insert(name);
    }
}

/// Returns the id of the newest edit. A page polls it to learn of new edits.
pub fn newest(past: &Past) -> Result<Option<EditId>, NotKept> {
    let found = past.workspace().history().find(&EditFilter::default(), 1, &|_| true)?;
    Ok(found.into_iter().next().map(|entry| entry.id))
}

/// Returns the story of the edit with this id.
pub fn show(past: &Past, id: &str) -> Result<Value, BoxedProblem> {
    let id = EditId::parse(id).ok_or_else(words::unknown)?;
    let mut workspace = past.workspace();
    let entry = workspace.history().get(&id);
    let entry = entry.map_err(|reason| words::unreadable(workspace.state_directory(), &reason))?;
    let (entry, _) = entry.ok_or_else(words::unknown)?;
    // If this fails, the story only lacks some data.
    let _ = workspace.serve_files_of([&entry]);
    Ok(of_entry(&workspace, &entry, past.can_undo(&entry), &mut KnownStates::default()))
}

/// Builds the data of an exported page: `entries`, and the stories of those that fit into `MAX_BYTES`. Also
/// returns the number of edits without a story.
pub fn page(workspace: &mut Workspace, entries: &[Entry], title: &str, created: &str) -> (Value, usize) {
    let mut stories = Map::new();
    let (mut left, mut without, mut known) = (MAX_BYTES, 0, KnownStates::default());
    for entry in entries {
        // If this fails, the story only lacks some data.
        let _ = workspace.serve_files_of([entry]);
        let story = of_entry(workspace, entry, false, &mut known);
        match left.checked_sub(story.to_string().len()) {
            Some(rest) => {
                left = rest;
                stories.insert(entry.id.to_string(), story);
            }
            None => without += 1,
        }
    }
    let edits: Vec<Value> = entries.iter().map(|entry| story::row(entry, false)).collect();
    (json!({"title": title, "made": created, "edits": edits, "stories": stories}), without)
}

/// Builds the story of a past edit whose files the workspace serves. The story is based on the states before
/// and after the edit, if they can be restored, or else on the diffs in the history. `known` is shared by the
/// stories of many edits.
pub(crate) fn of_entry(
    workspace: &Workspace,
    entry: &Entry,
    can_undo: bool,
    known: &mut KnownStates,
) -> Value {
    story::edit(entry, can_undo, |file| workspace.comparison(&entry.id, file, SHOWN, known).ok().flatten())
}

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
