//! The reasons why a subcommand failed.

use std::io;

use mcp_text_editor_store::{NotKept, Workspace};

use crate::render::escape::on_one_line;
use crate::render::history::help;

/// The reason why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another reason, which the message says.
    #[error("{0}")]
    Failed(String),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(super) type HistoryResult = Result<(), HistoryError>;

/// Makes the error for an id that the history does not have.
pub(super) fn unknown(id: &str) -> HistoryError {
    let id = on_one_line(id);
    HistoryError::Failed(format!("no edit {id} is kept; mcp-text-editor history lists those that are"))
}

/// Makes the error of a history that cannot be read.
pub(super) fn unreadable(workspace: &Workspace, reason: &NotKept) -> HistoryError {
    HistoryError::Failed(match reason {
        NotKept::Unavailable { reason, remedy } => {
            format!("the history cannot be read: {reason}; {}", help(workspace.state_directory(), *remedy))
        }
        _ => "there is no history: it is switched off".to_owned(),
    })
}
