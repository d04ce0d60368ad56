//! Opens the history for a page ([`Past`]). Returns the story of an edit, the id of the newest edit, and the
//! data of an exported page.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mcp_text_editor_store::{EditFilter, EditId, Entry, KnownStates, NotKept, Workspace};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex as FairMutex, MutexGuard};

use crate::context::SHOWN;
use crate::problem::Problem;
use crate::render::past as words;
use crate::render::paths::shown;
use crate::render::story;

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
