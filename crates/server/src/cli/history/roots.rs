//! `history roots`.

use std::io::Write;

use mcp_text_editor_store::Workspace;

use super::error::{HistoryError, HistoryResult, unreadable};
use super::output::screen;
use crate::render::shell::roots;

/// Shows the names that directories have on all machines that share the history, and their paths on this
/// machine.
pub(super) fn roots(workspace: &Workspace, is_json: bool, out: &mut dyn Write) -> HistoryResult {
    let known = workspace.history().roots().map_err(|reason| unreadable(workspace, &reason))?;
    let Some(known) = known else {
        return Err(HistoryError::Failed(
            "this machine shares its history with no other; --state-url names the database by which it would"
                .to_owned(),
        ));
    };
    let screen = screen();
    for root in &known {
        let words = if is_json { roots::line(root) } else { roots::root(root, &screen) };
        out.write_all(words.as_bytes())?;
    }
    if known.is_empty() && !is_json {
        out.write_all(roots::NONE.as_bytes())?;
    }
    Ok(())
}
