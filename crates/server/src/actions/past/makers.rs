//! Collects the roots, tools and clients of past edits, so that a person can filter by them.

use std::collections::BTreeSet;

use mcp_text_editor_store::{EditFilter, EditId, Entry, NotKept, Workspace};
use serde_json::{Map, Value, json};

use crate::render::paths::shown;

/// The number of edits that one lookup loads into memory.
const PAGE: usize = 200;
/// The maximum number of roots, of tools, and of clients.
const MAX_NAMES: usize = 1_000;

/// The roots, tools and clients of the edits so far. Names are only added: those of edits that the history
/// has deleted meanwhile stay.
#[derive(Default, Debug)]
pub(super) struct Makers {
    /// The newest edit whose names were added.
    newest: Option<EditId>,
    roots: BTreeSet<String>,
    tools: BTreeSet<String>,
    clients: BTreeSet<String>,
}

impl Makers {
    /// Adds the names from the edits that were made since the last call.
    pub(super) fn update(&mut self, workspace: &Workspace, scope: &EditFilter) -> Result<(), NotKept> {
        let mut filter = scope.clone();
        let mut newest = None;
        loop {
            let limit = if newest.is_none() { 1 } else { PAGE };
            let entries = workspace.history().find(&filter, limit, &|_| true)?;
            newest = newest.or_else(|| entries.first().map(|entry| entry.id.clone()));
            for entry in &entries {
                if self.newest.as_ref() == Some(&entry.id) {
                    self.newest = newest;
                    return Ok(());
                }
                self.add(entry);
            }
            if entries.len() < limit {
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
