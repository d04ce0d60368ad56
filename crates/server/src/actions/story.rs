//! Fetches from the store the facts that `render` needs for the story of an edit: one that was just made, or
//! a past one.

use mcp_text_editor_store::{EditId, Edited, Entry, KnownStates, NotKept, Outcome, Workspace};
use serde_json::Value;

use super::capability::Capabilities;
use crate::context::{Context, SHOWN};
use crate::render::story;
use crate::tool_id::ToolId;

/// Builds the story of a call's edit, or of a dry run, from the outcome that the store returned.
pub(super) fn outcome<'a>(
    context: &Context,
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Value {
    let kept = done.entry.as_ref().and_then(|entry| Some((entry, Capabilities::new(context).ok()?)));
    let Some((entry, capabilities)) = kept else { return story::outcome(tool, done, name, dry_run) };
    let mut story = story::kept(entry, can_undo(context), done);
    capabilities.put_into(story.get_mut("edit"), context.session());
    story
}

/// Builds the story of a past edit, with the capabilities for it; `None` if the history has no edit with this
/// id, or one of its files lies outside the roots.
pub(super) fn past(context: &Context, id: &EditId) -> Result<Option<Value>, NotKept> {
    let workspace = &*context.workspace;
    let Some(entry) = workspace.edit(id)? else { return Ok(None) };
    let mut story = of_entry(workspace, &entry, can_undo(context), &mut KnownStates::default());
    Capabilities::new(context)?.put_into(story.get_mut("edit"), context.session());
    Ok(Some(story))
}

/// Builds the story of a past edit whose files the workspace serves, from the states before and after it if
/// they can be restored, or else from the diffs in the history. `known` is shared by the stories of many
/// edits.
pub(super) fn of_entry(
    workspace: &Workspace,
    entry: &Entry,
    can_undo: bool,
    known: &mut KnownStates,
) -> Value {
    story::edit(entry, can_undo, |file| workspace.comparison(&entry.id, file, SHOWN, known).ok().flatten())
}

/// Tells whether this process may take edits back.
pub(super) fn can_undo(context: &Context) -> bool {
    !context.workspace.is_read_only()
}
