//! `move_text_file`: moves or renames a file.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::move_file::{self, MoveRequest};
use crate::arguments::vocabulary::{DRY_RUN, FROM, TO};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Move,
    title: "Move or rename a file",
    description: "Move or rename a regular file, text or not, and make missing parent directories. Never overwrites: `to` is the \
        new path of the file itself, and nothing may be there. What the file holds stays as it is, so its hashes do, too.",
    search_hint: Some("rename"),
    if_offered: &[(ToolId::Undo, "undo_text_file_edits moves it back.")],
    destructive: false,
    idempotent: false,
    arguments: Object { own: &[FROM.needed(), TO.needed(), DRY_RUN] },
    output: output::moved,
    run: run::<MoveRequest>,
};

impl Request for MoveRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let from = fields.file(FROM);
        let to = fields.text(TO);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { from: from?, to: to?, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        move_file::move_file(context, self, cancel)
    }
}
