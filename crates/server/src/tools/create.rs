//! `create_text_file`: creates a file.

use serde_json::{Map, Value};

use super::output;
use super::shared::dry_run_schema;
use super::tool::Tool;
use crate::actions::create::{self, CreateRequest};
use crate::arguments::{Ends, Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Create,
    title: "Create a text file",
    description: "Create a text file with exactly these contents, and missing parent directories. Never overwrites: if the \
        name is taken, the error has the call that would replace the file. End the contents with a newline unless \
        the file is to have none. The reply has the `file_hash`.",
    beside: &[(ToolId::Patch, "To change a file that exists use patch_text_file_contents.")],
    destructive: false,
    idempotent: true,
    input,
    output: output::edit,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("file_path", text("Absolute path.")),
            ("contents", text("The whole text; may be empty.")),
            ("encoding", text("Default: utf-8. utf-16, utf-32, utf-8-sig write a BOM.")),
            ("dry_run", dry_run_schema()),
        ],
        &["file_path", "contents"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    create::create(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<CreateRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<CreateRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Create)
}

fn request(mut fields: Fields<'_>) -> Option<CreateRequest> {
    let file_path = fields.file_path();
    let contents =
        fields.required("contents", "the whole text of the file, which may be empty", |f, name| {
            f.text(name, Ends::Kept)
        });
    let encoding = fields.encoding();
    let dry_run = fields.flag("dry_run", false);
    Some(CreateRequest { file_path: file_path?, contents: contents?, encoding, dry_run })
}
