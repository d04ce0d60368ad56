//! `create_text_file`: creates a file.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::create::{self, CreateRequest};
use crate::arguments::vocabulary::{CONTENTS, DRY_RUN, ENCODING, FILE_PATH};
use crate::arguments::{Argument, Ends, Fields, Object, ValueKind};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Create,
    title: "Create a text file",
    description: "Write a new text file with exactly these contents, and missing parent directories. Never overwrites: if the \
        name is taken, the error has the call that replaces it. End the contents with a newline unless \
        the file is to have none. The reply has the `file_hash`.",
    search_hint: Some("write new"),
    if_offered: &[(ToolId::Patch, "For a file that exists use patch_text_file_contents.")],
    destructive: false,
    idempotent: true,
    arguments: Object {
        own: &[
            FILE_PATH.needed(),
            WHOLE_TEXT.needed().says("The whole text; may be empty."),
            ENCODING.says("Default: utf-8. utf-16, utf-32, utf-8-sig write a BOM."),
            DRY_RUN,
        ],
    },
    output: output::edit,
    run: run::<CreateRequest>,
};

/// The text of a file that is made.
pub(super) const WHOLE_TEXT: Argument = Argument {
    kind: ValueKind::Text(Ends::Kept),
    purpose: "the whole text of the file, which may be empty",
    ..CONTENTS
};

impl Request for CreateRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let contents = fields.text(CONTENTS);
        let encoding = fields.text(ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { file_path: file_path?, contents: contents?, encoding, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        create::create(context, self, cancel)
    }
}
