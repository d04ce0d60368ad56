//! The requests of a view: for the story of a past edit, for a list of past edits, and to take one back.
//!
//! The rules of the tools apply: an edit counts as unknown if one of its files lies outside the roots, and a
//! view can write only what a tool could write. An edit also counts as unknown without its capability.

use std::cmp::Reverse;

use mcp_text_editor_store::{Cancellation, EditFilter, EditId, Entry, NotKept};
use serde_json::{Map, Value, json};

use super::capability::Capabilities;
use super::history::{self, UndoRequest};
use super::reply::failure;
use super::story::{can_undo, past};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::render::history as words;
use crate::render::story;
use crate::tool_id::ToolId;

/// Returns the story of a past edit, as structured content.
///
/// # Errors
///
/// No such edit is kept, one of its files lies outside the roots, or this is not its capability.
pub fn show(context: &Context, edit_id: &str, capability: &str) -> Result<Reply, Failure> {
    let id = permitted(context, edit_id, capability)?;
    let story = past(context, &id).map_err(|reason| unreadable(context, &reason))?;
    story.map(structured).ok_or_else(|| unknown(context, edit_id))
}

/// Lists past edits, the newest first, without their diffs: those that the capabilities name, and those of
/// the sessions that they name. The files of each must all lie in the roots.
///
/// # Errors
///
/// The history cannot be read.
pub fn list(
    context: &Context,
    capabilities: &Map<String, Value>,
    limit: usize,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    listed(context, capabilities, limit, cancel).map_err(|reason| unreadable(context, &reason))
}

fn listed(
    context: &Context,
    named: &Map<String, Value>,
    limit: usize,
    cancel: &Cancel,
) -> Result<Reply, NotKept> {
    let is_cancelled = || cancel.is_cancelled();
    let (workspace, capabilities) = (&context.workspace, Capabilities::new(context)?);
    let mut entries: Vec<Entry> = Vec::new();
    let permitted =
        named.iter().filter(|(of, capability)| capabilities.permit(of, capability.as_str().unwrap_or("")));
    for (of, _) in permitted.take(limit) {
        if let Some(id) = EditId::parse(of) {
            entries.extend(workspace.edit(&id)?);
        } else {
            let filter = EditFilter { session: Some(of.clone()), ..EditFilter::default() };
            entries.extend(workspace.find_edits(&filter, limit, Cancellation::when(&is_cancelled))?);
        }
    }
    entries.sort_by_key(|entry| (Reverse(entry.time), entry.id.clone()));
    entries.dedup_by(|one, other| one.id == other.id);
    entries.truncate(limit);
    let row = |entry: Entry| {
        let mut row = story::row(&entry, can_undo(context));
        capabilities.put_into(Some(&mut row), None);
        row
    };
    let edits: Vec<Value> = entries.into_iter().map(row).collect();
    Ok(structured(json!({ "edits": edits })))
}

/// Takes an edit back, or shows what that would change. The structured content is the story of the undo.
///
/// # Errors
///
/// As those of [`show`] and of `undo_text_file_edits`.
pub fn take_back(
    context: &Context,
    request: &UndoRequest,
    capability: &str,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    permitted(context, &request.edit_id, capability)?;
    let mut context = context.clone();
    context.shows_views = true;
    let done = history::undo(&context, request, cancel)?;
    Ok(Reply { structured: done.story, story: None, ..done })
}

/// Returns the id of an edit, if this is its capability.
fn permitted(context: &Context, edit_id: &str, capability: &str) -> Result<EditId, Failure> {
    let capabilities = Capabilities::new(context).map_err(|reason| unreadable(context, &reason))?;
    let id = EditId::parse(edit_id).filter(|id| capabilities.permit(&id.to_string(), capability));
    id.ok_or_else(|| unknown(context, edit_id))
}

fn unknown(context: &Context, edit_id: &str) -> Failure {
    failure(context, ToolId::Undo, vec![words::unknown(&context.config.tools, edit_id)])
}

fn unreadable(context: &Context, reason: &NotKept) -> Failure {
    failure(context, ToolId::Undo, vec![words::unreadable(context.workspace.state_directory(), reason)])
}

fn structured(value: Value) -> Reply {
    Reply { text: String::new(), structured: Some(value), story: None }
}
