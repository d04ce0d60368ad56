//! `append_text_file_contents`: adds lines to the end of a file.

use serde_json::{Map, Value};

use super::output;
use super::shared::{
    FILE_HASH, dry_run_schema, encoding_schema, file_hash_schema, file_path_schema, new_lines,
};
use super::tool::Tool;
use crate::actions::edit::{self, AppendRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Append,
    title: "Append to a text file",
    description: "Add lines at the end of a text file. If the file no longer has this `file_hash`, nothing is written \
        and the error has the new one. The text begins on a line of its own and is ended by a newline. The \
        reply has the new `file_hash`, so the next edit needs no read.",
    beside: &[],
    destructive: false,
    idempotent: false,
    input,
    output: output::edit,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("file_path", file_path_schema()),
            ("file_hash", file_hash_schema()),
            ("contents", text("The lines to add; not empty.")),
            ("encoding", encoding_schema()),
            ("dry_run", dry_run_schema()),
        ],
        &["file_path", "file_hash", "contents"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    edit::append(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<AppendRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<AppendRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Append)
}

fn request(mut fields: Fields<'_>) -> Option<AppendRequest> {
    let file_path = fields.file_path();
    let file_hash = fields.required("file_hash", FILE_HASH, Fields::tag);
    let contents = new_lines(&mut fields);
    let encoding = fields.encoding();
    let dry_run = fields.flag("dry_run", false);
    Some(AppendRequest {
        file_path: file_path?,
        file_hash: file_hash?,
        contents: contents?,
        encoding,
        dry_run,
    })
}
