//! `undo_text_file_edits`: undoes a past edit.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::history::{self, UndoRequest};
use crate::arguments::vocabulary::{DRY_RUN, EDIT_ID};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Undo,
    title: "Undo an edit",
    description: "Undo an edit, the last change or another, that was made through this server: all of its files get the bytes that they had before, \
        or none does. A file that has changed since is a conflict; its error names the later edit that is in the way, \
        which can be undone first. Undoing a create removes the file, undoing a move moves it back. The undo is an edit itself: to redo, undo the \
        edit_id that it returns.",
    search_hint: Some("revert change back"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object { own: &[EDIT_ID.needed(), DRY_RUN] },
    output: output::undone,
    run: run::<UndoRequest>,
};

impl Request for UndoRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let edit_id = fields.text(EDIT_ID);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { edit_id: edit_id?, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        history::undo(context, self, cancel)
    }
}
