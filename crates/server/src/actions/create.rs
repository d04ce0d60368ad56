//! Creates a file.

use mcp_text_editor_store::{Change, FileEdit};

use super::edit::edit_files;
use super::reply::cancelled;
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The file to create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateRequest {
    /// Its path, as the client wrote it.
    pub file_path: String,
    /// Its text with line ends as the client wrote them; may be empty.
    pub contents: String,
    /// The label of its encoding.
    pub encoding: Option<String>,
    /// Whether to write nothing.
    pub dry_run: bool,
}

/// Creates a file.
pub fn create(context: &Context, request: &CreateRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    if cancel.is_cancelled() {
        return Err(cancelled(context, ToolId::Create));
    }
    let edit = FileEdit {
        file_path: &request.file_path,
        encoding: request.encoding.as_deref(),
        file_hash: None,
        change: Change::Create(&request.contents),
    };
    edit_files(context, ToolId::Create, &[edit], request.dry_run, cancel)
}
