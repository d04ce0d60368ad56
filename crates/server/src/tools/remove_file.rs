//! `remove_text_file`: removes a file.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::remove_file::{self, RemoveRequest};
use crate::arguments::vocabulary::{DRY_RUN, FILE_HASH, FILE_PATH};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Remove,
    title: "Remove a text file",
    description: "Remove a text file. It must still be the one that was read: give its `file_hash`. Directories stay.",
    search_hint: Some("delete"),
    if_offered: &[
        (ToolId::Delete, "To delete lines of a file use delete_text_file_contents."),
        (ToolId::Undo, "undo_text_file_edits brings it back."),
    ],
    destructive: true,
    idempotent: false,
    arguments: Object { own: &[FILE_PATH.needed(), FILE_HASH.needed(), DRY_RUN] },
    output: output::removed,
    run: run::<RemoveRequest>,
};

impl Request for RemoveRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let file_hash = fields.tag(FILE_HASH);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { file_path: file_path?, file_hash: file_hash?, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        remove_file::remove_file(context, self, cancel)
    }
}
