//! The requests of a view: for the story of a past edit, for a list of past edits, and to take one back.
//!
//! The rules of the tools hold: an edit whose files do not all lie in the roots counts as unknown, and
//! nothing is written that no tool could write.

use mcp_text_editor_store::{EditFilter, EditId};
use serde_json::{Value, json};

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
/// No such edit is kept, or one of its files lies outside the roots.
pub fn show(context: &Context, edit_id: &str) -> Result<Reply, Failure> {
    let problem = match EditId::parse(edit_id).map(|id| past(context, &id)).transpose() {
        Ok(Some(Some(told))) => return Ok(structured(told)),
        Ok(_) => words::unknown(&context.config.tools, edit_id),
        Err(reason) => words::unreadable(context.workspace.state_directory(), &reason),
    };
    Err(failure(context, ToolId::Undo, vec![problem]))
}

/// Lists the past edits of the session whose files all lie in the roots, the newest first, without their
/// diffs. Without a session it lists those of all clients.
///
/// # Errors
///
/// The history cannot be read.
pub fn list(context: &Context, limit: usize) -> Result<Reply, Failure> {
    let workspace = &context.workspace;
    let filter = EditFilter { session: context.session().map(str::to_owned), ..EditFilter::default() };
    let found = workspace.find_edits(&filter, limit).map_err(|reason| {
        let problem = words::unreadable(workspace.state_directory(), &reason);
        failure(context, ToolId::Undo, vec![problem])
    })?;
    let edits: Vec<Value> = found.iter().map(|entry| story::row(entry, can_undo(context))).collect();
    Ok(structured(json!({ "edits": edits })))
}

/// Takes an edit back, or shows what that would change; the story of that is the structured content.
///
/// # Errors
///
/// As those of `undo_text_file_edits`.
pub fn take_back(context: &Context, request: &UndoRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let mut context = context.clone();
    context.shows_views = true;
    let done = history::undo(&context, request, cancel)?;
    Ok(Reply { structured: done.story, story: None, ..done })
}

fn structured(value: Value) -> Reply {
    Reply { text: String::new(), structured: Some(value), story: None }
}
