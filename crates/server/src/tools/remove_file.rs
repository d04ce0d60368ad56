//! `remove_text_file`: removes a file.

use serde_json::{Map, Value};

use super::output;
use super::shared::{FILE_HASH, dry_run_schema, file_hash_schema, file_path_schema};
use super::tool::Tool;
use crate::actions::remove_file::{self, RemoveRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::arguments;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Remove,
    title: "Remove a text file",
    description: "Remove a text file. It must still be the one that was read: give its `file_hash`. Directories stay.",
    beside: &[
        (ToolId::Delete, "To delete lines of a file use delete_text_file_contents."),
        (ToolId::Undo, "undo_text_file_edits brings it back."),
    ],
    destructive: true,
    idempotent: false,
    input,
    output: output::removed,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("file_path", file_path_schema()),
            ("file_hash", file_hash_schema()),
            ("dry_run", dry_run_schema()),
        ],
        &["file_path", "file_hash"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    remove_file::remove_file(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<RemoveRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<RemoveRequest, Failure> {
    let mut fields = Fields::top(&notes, values);
    let file_path = fields.file_path();
    let file_hash = fields.required("file_hash", FILE_HASH, Fields::tag);
    let dry_run = fields.flag("dry_run", false);
    drop(fields);
    let request = file_path.zip(file_hash).map(|(file_path, file_hash)| RemoveRequest {
        file_path,
        file_hash,
        dry_run,
    });
    notes.finish(request, ToolId::Remove)
}
