//! `list_text_file_edits`: lists the edits that were made through this server.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::history::{self, EditsRequest};
use crate::arguments::vocabulary::{FILE_PATH, LIMIT};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Edits,
    title: "List past edits",
    description: "List the edits that were made through this server, the newest first: each with its edit_id, when and by \
        which tool it was made, and its files. With file_path only those of that file, or of files below that directory.",
    search_hint: Some("history changes"),
    if_offered: &[(
        ToolId::Undo,
        "undo_text_file_edits takes an edit back by its edit_id; with dry_run it shows what that would change.",
    )],
    destructive: false,
    idempotent: true,
    arguments: Object {
        own: &[
            FILE_PATH.says("Absolute path of a file or directory. Default: all that may be edited."),
            LIMIT,
        ],
    },
    output: output::edits,
    run: run::<EditsRequest>,
};

/// The number of edits that are listed by default.
const DEFAULT_EDITS: u64 = 20;
/// The most edits that are listed at once.
pub const MAX: u64 = 1_000;

impl Request for EditsRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.text(FILE_PATH);
        let limit = fields.number(LIMIT).unwrap_or(DEFAULT_EDITS).min(MAX);
        Some(Self { file_path, limit })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        history::list(context, self, cancel)
    }
}
