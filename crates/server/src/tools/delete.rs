//! `delete_text_file_contents`: deletes lines of a file.

use mcp_text_editor_core::resolve::GuardedRange;
use serde_json::{Map, Value};

use super::output;
use super::shared::{
    FILE_HASH, dry_run_schema, encoding_schema, file_hash_schema, file_path_schema, guarded_range,
    guarded_range_schema,
};
use super::tool::Tool;
use crate::actions::edit::{self, DeleteRequest};
use crate::arguments::{Fields, Notes, each};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, list};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Delete,
    title: "Delete lines of a text file",
    description: "Delete whole lines of a text file, one or several ranges at once. Each needs the `range_hash` of exactly \
        those lines, from a read. Line numbers refer to the file before the call; ranges must not overlap. If \
        anything does not fit, nothing is deleted, and the error has the present text and hashes. The reply has \
        the new `file_hash`. The file itself is never removed.",
    beside: &[(ToolId::Patch, "For part of a line use patch_text_file_contents.")],
    destructive: true,
    idempotent: false,
    input,
    output: output::edit,
    run,
};

fn input() -> Map<String, Value> {
    let range = guarded_range_schema("From a read of these lines.", &["start", "range_hash"]);
    arguments(
        &[
            ("file_path", file_path_schema()),
            ("file_hash", file_hash_schema()),
            ("ranges", list("The lines to delete.", range)),
            ("encoding", encoding_schema()),
            ("dry_run", dry_run_schema()),
        ],
        &["file_path", "file_hash", "ranges"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    edit::delete(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<DeleteRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<DeleteRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Delete)
}

fn request(mut fields: Fields<'_>) -> Option<DeleteRequest> {
    let file_path = fields.file_path();
    let file_hash = fields.required("file_hash", FILE_HASH, Fields::tag);
    let ranges =
        fields.some_objects("ranges", "the lines to delete, each with `start`, `end` and `range_hash`");
    let ranges = ranges.map(|ranges| each(ranges, range));
    let encoding = fields.encoding();
    let dry_run = fields.flag("dry_run", false);
    Some(DeleteRequest { file_path: file_path?, file_hash: file_hash?, ranges: ranges??, encoding, dry_run })
}

fn range(fields: Fields<'_>) -> Option<GuardedRange> {
    if !fields.has("range_hash") {
        fields.missing("range_hash", "as a read of exactly these lines shows it");
    }
    guarded_range(fields)
}
