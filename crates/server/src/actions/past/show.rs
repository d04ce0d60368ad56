//! Returns the story of one edit, the id of the newest one, and the data of an exported page.

use mcp_text_editor_store::{EditFilter, EditId, Entry, KnownStates, NotKept, Workspace};
use serde_json::{Map, Value, json};

use super::open::{BoxedProblem, Past};
use crate::actions::story::of_entry;
use crate::render::past as words;
use crate::render::story;

/// The maximum bytes of the stories of an exported page.
const MAX_BYTES: usize = 16 << 20;

/// Returns the id of the newest edit. A page polls it to learn of new edits.
pub fn newest(past: &Past) -> Result<Option<EditId>, NotKept> {
    let found = past.workspace().history().find(&EditFilter::default(), 1, &|_| true)?;
    Ok(found.into_iter().next().map(|entry| entry.id))
}

/// Returns the story of an edit, by its id.
pub fn show(past: &Past, id: &str) -> Result<Value, BoxedProblem> {
    let id = EditId::parse(id).ok_or_else(words::unknown)?;
    let mut workspace = past.workspace();
    let entry = workspace.history().get(&id);
    let entry = entry.map_err(|reason| words::unreadable(workspace.state_directory(), &reason))?;
    let (entry, _) = entry.ok_or_else(words::unknown)?;
    // If this fails, the story only has less.
    let _ = workspace.serve_files_of(&entry);
    Ok(of_entry(&workspace, &entry, past.can_undo(&entry), &mut KnownStates::default()))
}

/// Builds the data of an exported page: edits, the newest first, with the stories of as many as fit into
/// `MAX_BYTES`. Also returns the number of edits without a story.
pub fn page(workspace: &mut Workspace, entries: &[Entry], title: &str, created: &str) -> (Value, usize) {
    let mut stories = Map::new();
    let (mut left, mut without, mut known) = (MAX_BYTES, 0, KnownStates::default());
    for entry in entries {
        // If this fails, the story only has less.
        let _ = workspace.serve_files_of(entry);
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
