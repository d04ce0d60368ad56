//! The story of one edit, the id of the newest one, and the data of a page that is a file.

use mcp_text_editor_store::{EditFilter, EditId, Entry, KnownStates, NotKept, Workspace};
use serde_json::{Map, Value, json};

use super::open::{BoxedProblem, Past};
use crate::actions::story::of_entry;
use crate::render::past as words;
use crate::render::story;

/// The most bytes of the stories of a page that is a file.
const MOST_BYTES: usize = 16 << 20;

/// Returns the id of the newest edit. If it has changed, there are new edits to list.
pub fn newest(past: &Past) -> Result<Option<EditId>, NotKept> {
    let found = past.workspace().history().find(&EditFilter::default(), 1, &|_| true)?;
    Ok(found.into_iter().next().map(|entry| entry.id))
}

/// Returns the story of an edit, by its id.
pub fn show(past: &Past, id: &str) -> Result<Value, BoxedProblem> {
    let id = EditId::parse(id).ok_or_else(words::unknown)?;
    let mut workspace = past.workspace();
    let found = workspace.history().get(&id);
    let found = found.map_err(|reason| words::unreadable(workspace.state_directory(), &reason))?;
    let (entry, _) = found.ok_or_else(words::unknown)?;
    // Where that fails the story has less.
    let _ = workspace.serve_files_of(&entry);
    Ok(of_entry(&workspace, &entry, past.can_undo(&entry), &mut KnownStates::default()))
}

/// Makes the data of a page that is a file: edits, the newest first, with as many of their stories as there
/// is room for. Returns also how many edits have no story for lack of room.
pub fn page(workspace: &mut Workspace, entries: &[Entry], title: &str, made: &str) -> (Value, usize) {
    let mut stories = Map::new();
    let (mut left, mut without, mut known) = (MOST_BYTES, 0, KnownStates::default());
    for entry in entries {
        // Where that fails the story has less.
        let _ = workspace.serve_files_of(entry);
        let told = of_entry(workspace, entry, false, &mut known);
        match left.checked_sub(told.to_string().len()) {
            Some(rest) => {
                left = rest;
                stories.insert(entry.id.to_string(), told);
            }
            None => without += 1,
        }
    }
    let edits: Vec<Value> = entries.iter().map(|entry| story::row(entry, false)).collect();
    (json!({"title": title, "made": made, "edits": edits, "stories": stories}), without)
}
