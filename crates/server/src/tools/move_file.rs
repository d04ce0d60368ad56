//! `move_text_file`: moves or renames a file.

use serde_json::{Map, Value};

use super::output;
use super::shared::{dry_run_schema, file_path_schema};
use super::tool::Tool;
use crate::actions::move_file::{self, MoveRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Move,
    title: "Move or rename a file",
    description: "Move or rename a regular file, text or not, and make missing parent directories. Never overwrites: `to` is the \
        new path of the file itself, and nothing may be there. What the file holds stays as it is, so its hashes do, too.",
    beside: &[(ToolId::Undo, "undo_text_file_edits moves it back.")],
    destructive: false,
    idempotent: false,
    input,
    output: output::moved,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("from", file_path_schema()),
            ("to", text("Absolute path, with the file's new name.")),
            ("dry_run", dry_run_schema()),
        ],
        &["from", "to"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    move_file::move_file(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<MoveRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<MoveRequest, Failure> {
    let mut fields = Fields::top(&notes, values);
    let from = fields.path_of_file("from");
    let to = fields.required("to", "the absolute path that the file is to have", Fields::new_path);
    let dry_run = fields.flag("dry_run", false);
    drop(fields);
    let request = from.zip(to).map(|(from, to)| MoveRequest { from, to, dry_run });
    notes.finish(request, ToolId::Move)
}
