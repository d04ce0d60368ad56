//! `history forget`.

use std::io::Write;
use std::path::Path;

use mcp_text_editor_store::{Workspace, path_in_history};

use super::error::{HistoryError, HistoryResult, unreadable};

/// Forgets all edits, or the edits of a file, or of the files below a directory.
pub(super) fn forget(workspace: &Workspace, path: Option<&Path>, out: &mut dyn Write) -> HistoryResult {
    let real = path.map(path_in_history);
    let forgotten =
        workspace.history().forget(real.as_deref()).map_err(|reason| unreadable(workspace, &reason))?;
    match forgotten.edits {
        Some(0) => writeln!(out, "there was nothing to forget")?,
        Some(1) => writeln!(out, "1 edit is forgotten")?,
        Some(edits) => writeln!(out, "{edits} edits are forgotten")?,
        None => writeln!(out, "the history was damaged, and is removed")?,
    }
    if let Some(reason) = forgotten.remains {
        return Err(HistoryError::Failed(format!(
            "they are no longer listed, but their text can still be on the disk: {reason}; do it again to be rid of it"
        )));
    }
    Ok(())
}
