//! `insert_text_file_contents`: adds lines between two lines of a file.

use super::output;
use super::shared::{new_lines, position};
use super::tool::{Request, Tool, run};
use crate::actions::edit::{self, InsertRequest};
use crate::arguments::vocabulary::{AFTER, BEFORE, CONTENTS, DRY_RUN, ENCODING, FILE_HASH, FILE_PATH};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Insert,
    title: "Insert into a text file",
    description: "Insert lines into a text file; give exactly one of `after` and `before`. `after: 0` is the top, `after` \
        the last line the end. If the file no longer has this `file_hash`, nothing is written and the error has \
        the new one. The text is ended by a newline. The reply has the new `file_hash`.",
    search_hint: Some("add between"),
    if_offered: &[(ToolId::Patch, "For several places use patch_text_file_contents.")],
    destructive: false,
    idempotent: false,
    arguments: Object {
        own: &[
            FILE_PATH.needed(),
            FILE_HASH.needed(),
            CONTENTS.needed().says("The lines to insert; not empty."),
            AFTER,
            BEFORE,
            ENCODING,
            DRY_RUN,
        ],
    },
    output: output::edit,
    run: run::<InsertRequest>,
};

impl Request for InsertRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let file_hash = fields.tag(FILE_HASH);
        let contents = new_lines(fields);
        let position = position(fields, true);
        let encoding = fields.text(ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self {
            file_path: file_path?,
            file_hash: file_hash?,
            position: position?,
            contents: contents?,
            encoding,
            dry_run,
        })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        edit::insert(context, self, cancel)
    }
}
