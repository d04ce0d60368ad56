//! Fetches from the store what `render` needs for the story of an edit: one that was just made, or a past
//! one.

use mcp_text_editor_store::{EditId, Edited, Entry, NotKept, Outcome, Workspace};
use serde_json::Value;

use super::capability::Capabilities;
use crate::context::Context;
use crate::render::story::{self, FileState, FileStates};
use crate::tool_id::ToolId;

/// Makes the story of what a call has done, or would do, from what the store returned.
pub(super) fn outcome<'a>(
    context: &Context,
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Value {
    let kept = done.entry.as_ref().and_then(|entry| Some((entry, Capabilities::new(context).ok()?)));
    let Some((entry, capabilities)) = kept else { return story::outcome(tool, done, name, dry_run) };
    let mut told = story::kept(entry, can_undo(context), done);
    capabilities.put_into(told.get_mut("edit"), context.session());
    told
}

/// Makes the story of a past edit, with the capabilities for it; `None` if no edit of this id is kept, or if
/// not all of its files lie in the roots.
pub(super) fn past(context: &Context, id: &EditId) -> Result<Option<Value>, NotKept> {
    let workspace = &*context.workspace;
    let Some(entry) = workspace.edit(id)? else { return Ok(None) };
    let mut told = of_entry(workspace, &entry, can_undo(context));
    Capabilities::new(context)?.put_into(told.get_mut("edit"), context.session());
    Ok(Some(told))
}

/// Makes the story of a past edit whose files the workspace serves: by the states before and after it where
/// they can be restored, else by the diffs that are kept.
pub(super) fn of_entry(workspace: &Workspace, entry: &Entry, can_undo: bool) -> Value {
    story::edit(entry, can_undo, |file| states(workspace, &entry.id, file))
}

/// Restores the states of a file before and after an edit; both are unknown if that fails.
pub(crate) fn states(workspace: &Workspace, id: &EditId, file: usize) -> FileStates {
    match workspace.states(id, file) {
        Ok(Some(states)) => FileStates { before: held(states.before), after: held(states.after) },
        _ => FileStates::UNKNOWN,
    }
}

fn held(bytes: Option<Vec<u8>>) -> FileState {
    bytes.map_or(FileState::Absent, FileState::Bytes)
}

/// Tells whether this process takes edits back at all.
pub(super) fn can_undo(context: &Context) -> bool {
    !context.workspace.is_read_only()
}
