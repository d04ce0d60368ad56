//! The story of an edit that was just made, or of a past one: what `render` needs for it, from the store.

use mcp_text_editor_store::{EditId, Edited, Entry, NotKept, Outcome};
use serde_json::Value;

use crate::context::Context;
use crate::render::story::{self, States};
use crate::tool_id::ToolId;

/// Tells what a call has done, or would do. The history has the most of it; of an edit that is not kept there is what the reply says.
pub(super) fn outcome<'a>(
    context: &Context,
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Value {
    let kept = done.edit_id.as_ref().filter(|_| !dry_run).and_then(|id| past(context, id).ok().flatten());
    let Some(mut told) = kept else { return story::outcome(tool, done, name, dry_run) };
    story::warn_of(&mut told, done, name);
    told
}

/// Tells a past edit; `None` if none of this id is kept whose files all lie in the roots.
pub(super) fn past(context: &Context, id: &EditId) -> Result<Option<Value>, NotKept> {
    let entry = context.workspace.edit(id)?;
    Ok(entry.map(|entry| entry_story(context, &entry)))
}

fn entry_story(context: &Context, entry: &Entry) -> Value {
    story::edit(entry, can_undo(context), |_| States::UNKNOWN)
}

/// Whether this process takes edits back at all.
pub(super) fn can_undo(context: &Context) -> bool {
    !context.workspace.is_read_only()
}
