//! `undo_text_file_edits`: undoes a past edit.

use serde_json::{Map, Value};

use super::output;
use super::shared::dry_run_schema;
use super::tool::Tool;
use crate::actions::history::{self, UndoRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Undo,
    title: "Undo an edit",
    description: "Take back an edit that was made through this server: all of its files get the bytes that they had before, \
        or none does. A file that has changed since is a conflict; its error names the later edit that is in the way, \
        which can be undone first. Undoing a create removes the file, undoing a move moves it back. The undo is an edit itself: to redo, undo the \
        edit_id that it returns.",
    beside: &[],
    destructive: true,
    idempotent: false,
    input,
    output: output::undone,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("edit_id", text("The `edit_id` from the reply to the edit, or from the list of past edits.")),
            ("dry_run", dry_run_schema()),
        ],
        &["edit_id"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    history::undo(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<UndoRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<UndoRequest, Failure> {
    let mut fields = Fields::top(&notes, values);
    let edit_id = fields.required("edit_id", "the `edit_id` of the edit to take back", Fields::label);
    let dry_run = fields.flag("dry_run", false);
    drop(fields);
    notes.finish(edit_id.map(|edit_id| UndoRequest { edit_id, dry_run }), ToolId::Undo)
}
