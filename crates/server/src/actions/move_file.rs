//! Moves a file.

use mcp_text_editor_store::{Change, FileEdit};

use super::edit::edit_files;
use super::reply::cancelled;
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The file to move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MoveRequest {
    /// Its path, as the client wrote it.
    pub from: String,
    /// Its new path.
    pub to: String,
    /// Whether to move nothing.
    pub dry_run: bool,
}

/// Moves a file.
pub fn move_file(context: &Context, request: &MoveRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    if cancel.is_cancelled() {
        return Err(cancelled(context, ToolId::Move));
    }
    let edit = FileEdit::new(&request.from, Change::Move { to: &request.to, patches: &[] });
    edit_files(context, ToolId::Move, &[edit], request.dry_run, cancel)
}
