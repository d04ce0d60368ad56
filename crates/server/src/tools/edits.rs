//! `list_text_file_edits`: lists the edits that were made through this server and can be undone.

use serde_json::{Map, Value};

use super::output;
use super::tool::Tool;
use crate::actions::history::{self, EditsRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, integer, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Edits,
    title: "List past edits",
    description: "List the edits that were made through this server, the newest first: each with its edit_id, when and by \
        which tool it was made, and its files. With file_path only those of that file, or of files below that directory.",
    beside: &[(
        ToolId::Undo,
        "undo_text_file_edits takes an edit back by its edit_id; with dry_run it shows what that would change.",
    )],
    destructive: false,
    idempotent: true,
    input,
    output: output::edits,
    run,
};

/// How many edits are listed where nothing else is asked for.
const USUAL: u64 = 20;
/// No more edits are listed at once.
pub const MAX: u64 = 1_000;

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("file_path", text("Absolute path of a file or directory. Default: all that may be edited.")),
            ("limit", integer("The most edits to list, up to 1000. Default: 20.")),
        ],
        &[],
    )
}

fn run(context: &Context, values: Map<String, Value>, _: &Cancel) -> Result<Reply, Failure> {
    history::list(context, &read(values, Notes::of(context))?)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<EditsRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<EditsRequest, Failure> {
    let mut fields = Fields::top(&notes, values);
    let file_path = fields.optional_path("file_path");
    let limit = fields.positive("limit").unwrap_or(USUAL).min(MAX);
    drop(fields);
    notes.finish(Some(EditsRequest { file_path, limit }), ToolId::Edits)
}
