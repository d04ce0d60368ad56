//! The tools that only views (pages that a client shows beside a reply) call, never models. They return the
//! story of a past edit (the data that a view shows), list past edits, and take one back. They are not in
//! [`ALL`](super::ALL), and only clients that show views get them.
//!
//! The rules of the tools for models apply: an edit counts as unknown if one of its files lies outside the
//! roots (the directories that the server serves), and protected files stay protected. An edit also counts as
//! unknown if the call does not have the edit's capability, which proves that a reply has shown the edit to
//! the client.

use std::cmp::Reverse;

use mcp_text_editor_store::{Cancellation, EditFilter, EditId, Entry, NotKept};
use serde_json::{Map, Value, json};

use super::history::{UndoRequest, undo};
use super::tool;
use super::tool::{Capabilities, Run, can_undo, failure, of_past_edit};
use crate::config::ToolSet;
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure, Problem};
use crate::render::{history as words, story};
use crate::tool_id::ToolId;

/// A tool for views: its description and its function.
#[derive(Clone, Debug)]
pub struct AppTool {
    /// The name by which the tool is called. Names never change once released.
    pub name: &'static str,
    /// The name that people see.
    pub title: &'static str,
    /// The description.
    pub description: &'static str,
    /// Whether the tool never changes a file.
    pub is_read_only: bool,
    /// Checks the arguments and carries the call out.
    pub run: Run,
}

impl AppTool {
    /// Returns the schema of its arguments.
    #[must_use]
    pub fn arguments(&self) -> Map<String, Value> {
        tool::of(self.name)
    }
}

/// Every tool that views call.
pub static APP_TOOLS: &[AppTool] = &[
    AppTool {
        name: "show_text_file_edit",
        title: "Show an edit",
        description: "For the view of edits: what an edit changed.",
        is_read_only: true,
        run: |context, values, _| show(context, &values),
    },
    AppTool {
        name: "list_shown_text_file_edits",
        title: "List edits for the view",
        description: "For the view of edits: the past edits that the capabilities name, the newest first.",
        is_read_only: true,
        run: |context, values, cancel| {
            list(context, &values, cancel).map_err(|reason| unreadable(context, &reason))
        },
    },
    AppTool {
        name: "take_back_text_file_edit",
        title: "Take an edit back",
        description: "For the view of edits: takes an edit back, as a person asks there.",
        is_read_only: false,
        run: |context, values, cancel| take_back(context, &values, cancel),
    },
];

/// The default number of edits in a list, and the maximum.
const DEFAULT_EDITS: u64 = 20;
const MAX_EDITS: u64 = 100;

/// Tells whether the tools for views are offered; `offered` is the set of tools for models. Without an
/// editing tool, there is nothing to show.
#[must_use]
pub fn offers_app_tools(offered: &ToolSet) -> bool {
    ToolId::ALL.iter().any(|tool| !tool.is_read_only() && offered.contains(*tool))
}

fn invalid(reason: &str) -> Failure {
    let hint = "this tool is for the view of edits alone; it has the ids from the stories of edits";
    Failure::of(Problem::new(Code::InvalidArguments, reason, hint), "", true)
}

/// Returns the story of a past edit, as structured content.
fn show(context: &Context, values: &Map<String, Value>) -> Result<Reply, Failure> {
    let (id, edit_id) = permitted(context, values)?;
    let story = of_past_edit(context, &id).map_err(|reason| unreadable(context, &reason))?;
    story.map(structured).ok_or_else(|| unknown(context, edit_id))
}

/// Lists past edits, the newest first, without their diffs. These are the edits for which the call has
/// capabilities, and the edits of the sessions for which the call has capabilities. Edits with files outside
/// the roots are left out.
fn list(context: &Context, values: &Map<String, Value>, cancel: &Cancel) -> Result<Reply, NotKept> {
    let limit = values.get("limit").and_then(Value::as_u64).unwrap_or(DEFAULT_EDITS).min(MAX_EDITS);
    let limit = usize::try_from(limit).unwrap_or_default();
    let named = values.get("capabilities").and_then(Value::as_object).into_iter().flatten();
    let is_cancelled = || cancel.is_cancelled();
    let (workspace, capabilities) = (&context.workspace, Capabilities::new(context)?);
    let mut entries: Vec<Entry> = Vec::new();
    let permitted =
        named.filter(|(of, capability)| capabilities.permit(of, capability.as_str().unwrap_or("")));
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

/// Takes an edit back, or shows what the undo would change. The structured content is the story of the undo.
fn take_back(context: &Context, values: &Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let dry_run = match values.get("dry_run") {
        None => false,
        Some(Value::Bool(dry_run)) => *dry_run,
        Some(_) => return Err(invalid("`dry_run` must be true or false")),
    };
    let (_, edit_id) = permitted(context, values)?;
    let context = Context { shows_views: true, ..context.clone() };
    let done = undo(&context, &UndoRequest { edit_id: edit_id.to_owned(), dry_run }, cancel)?;
    Ok(Reply { structured: done.story, story: None, ..done })
}

/// Returns the id of the edit that the call names, parsed and as the call spells it. Fails if the call has no
/// capability for the edit.
fn permitted<'a>(context: &Context, values: &'a Map<String, Value>) -> Result<(EditId, &'a str), Failure> {
    let text = |name| values.get(name).and_then(Value::as_str);
    let edit_id = text("edit_id").ok_or_else(|| invalid("`edit_id` must be the id of an edit"))?;
    let capability = text("capability").unwrap_or_default();
    let capabilities = Capabilities::new(context).map_err(|reason| unreadable(context, &reason))?;
    let id = EditId::parse(edit_id).filter(|id| capabilities.permit(&id.to_string(), capability));
    Ok((id.ok_or_else(|| unknown(context, edit_id))?, edit_id))
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
