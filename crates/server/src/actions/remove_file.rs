//! Removes a file.

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_store::{Change, FileEdit};

use super::edit::edit_files;
use super::reply::cancelled;
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The file to remove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoveRequest {
    /// Its path, as the client wrote it.
    pub file_path: String,
    /// The digest that it must have.
    pub file_hash: DigestPrefix,
    /// Whether to remove nothing.
    pub dry_run: bool,
}

/// Removes a file.
pub fn remove_file(context: &Context, request: &RemoveRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    if cancel.is_cancelled() {
        return Err(cancelled(context, ToolId::Remove));
    }
    let edit =
        FileEdit { file_hash: Some(&request.file_hash), ..FileEdit::new(&request.file_path, Change::Remove) };
    edit_files(context, ToolId::Remove, &[edit], request.dry_run, cancel)
}
