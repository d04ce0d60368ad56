//! Carries out a person's request about past edits. `history forget` is here, the others have files of their
//! own.

use std::io::Write;
use std::path::Path;

use mcp_text_editor_store::{Workspace, path_in_history};

use super::action::{HistoryAction, UndoMode};
use super::error::{HistoryError, HistoryResult, unreadable};
use super::output::as_far_as_wanted;
use super::roots::roots;
use super::undo::{EditChoice, undo_several};
use super::{show, undo, web};
use crate::cli::terminal;

/// Carries out a request about past edits. `other` is another state directory with edits, which a hint to the
/// person names.
pub fn run(mut workspace: Workspace, action: HistoryAction, other: Option<&Path>) -> HistoryResult {
    let mut out = anstream::stdout();
    let other = other.map(elsewhere);
    if let HistoryAction::Web { selection, is_opened, port, idle } = action {
        return web::web(workspace, &selection, is_opened, port, idle, other);
    }
    let workspace = &mut workspace;
    match action {
        // This case returned above.
        HistoryAction::Web { .. } => {}
        HistoryAction::List { selection, form } => show::list(workspace, &selection, &form)?,
        HistoryAction::Html { selection, file, is_forced } => {
            web::html(workspace, &selection, file.as_deref(), is_forced)?;
        }
        HistoryAction::Show { edit_ids, form } => return show::show(workspace, &edit_ids, &form),
        HistoryAction::Roots { is_json } => return roots(workspace, is_json, &mut out),
        HistoryAction::Forget { path } => forget(workspace, path.as_deref(), &mut out)?,
        // The bytes are not written through `anstream`, which would remove escape sequences. `TerminalOutput`
        // escapes control characters, and only for a terminal.
        HistoryAction::Contents { edit_id } => {
            return show::contents(workspace, &edit_id, &mut terminal::TerminalOutput::new());
        }
        HistoryAction::Undo { edit_ids, selection, is_newest, with_later, mode } => {
            let is_dry_run = mode == UndoMode::DryRun;
            let done = match (edit_ids.as_slice(), mode) {
                ([edit_id], UndoMode::Do | UndoMode::DryRun) if !with_later => {
                    undo::undo(workspace, edit_id, is_dry_run, &mut out)
                }
                _ => {
                    let choice = match &selection {
                        Some(selection) => EditChoice::Selected(selection, is_newest),
                        None => EditChoice::Named(&edit_ids, with_later),
                    };
                    undo_several(workspace, choice, mode, &mut out)
                }
            };
            return if is_dry_run { as_far_as_wanted(done) } else { done };
        }
    }
    if let Some(other) = other {
        terminal::tell(&other, "");
    }
    Ok(())
}

/// Returns the hint about the history in another state directory.
fn elsewhere(state_directory: &Path) -> String {
    let directory = state_directory.display();
    let whose = if cfg!(windows) {
        "earlier versions, or servers to which their clients do not pass on MCP_TEXT_EDITOR_STATE_DIR"
    } else {
        "servers to which their clients pass on neither XDG_STATE_HOME nor MCP_TEXT_EDITOR_STATE_DIR (Codex does not)"
    };
    format!("more edits are kept in {directory}, by {whose}: mcp-text-editor history --state-dir {directory}")
}

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
