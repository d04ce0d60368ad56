//! `append_text_file_contents`: adds lines to the end of a file.

use super::output;
use super::shared::new_lines;
use super::tool::{Request, Tool, run};
use crate::actions::edit::{self, AppendRequest};
use crate::arguments::vocabulary::{CONTENTS, DRY_RUN, ENCODING, FILE_HASH, FILE_PATH};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Append,
    title: "Append to a text file",
    description: "Add lines at the end of a text file. If the file no longer has this `file_hash`, nothing is written \
        and the error has the new one. The text begins on a line of its own and is ended by a newline. The \
        reply has the new `file_hash`.",
    search_hint: Some("add end"),
    if_offered: &[],
    destructive: false,
    idempotent: false,
    arguments: Object {
        own: &[
            FILE_PATH.needed(),
            FILE_HASH.needed(),
            CONTENTS.needed().says("The lines to add; not empty."),
            ENCODING,
            DRY_RUN,
        ],
    },
    output: output::edit,
    run: run::<AppendRequest>,
};

impl Request for AppendRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let file_hash = fields.tag(FILE_HASH);
        let contents = new_lines(fields);
        let encoding = fields.text(ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { file_path: file_path?, file_hash: file_hash?, contents: contents?, encoding, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        edit::append(context, self, cancel)
    }
}
