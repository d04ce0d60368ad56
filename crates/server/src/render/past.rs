//! Words failures for a person who looks at past edits in a page.

use std::path::Path;

use mcp_text_editor_store::{EditId, NotKept, Remedy};

use super::history::help;
use crate::problem::{Code, Problem};

/// Makes the problem of a history that cannot be read.
pub(crate) fn unreadable(state: Option<&Path>, reason: &NotKept) -> Box<Problem> {
    let NotKept::Unavailable { reason, remedy } = reason else {
        return of(Code::NotFound, "no history is kept: it is switched off", "");
    };
    let code = if *remedy == Remedy::Retry { Code::Busy } else { Code::IoError };
    let reason = format!("The history cannot be read: {reason}.");
    let help = help(state, *remedy);
    of(
        code,
        reason,
        format!(
            "{}.",
            help.strip_prefix("a person can ").map_or(help.clone(), |help| format!("You can {help}"))
        ),
    )
}

/// Says that the history has no such edit.
pub(crate) fn unknown() -> Box<Problem> {
    of(Code::NotFound, "No such edit is kept.", "The list shows those that are.")
}

/// Says that the file has no such state.
pub(crate) fn no_state() -> Box<Problem> {
    of(Code::NotFound, "The history has no such state of this file.", "Choose the file again.")
}

/// Makes the problem of a state of a file that can no longer be restored.
pub(crate) fn lost_state() -> Box<Problem> {
    let reason =
        "That state cannot be put together: another program has changed the file since, or it is too large.";
    of(Code::Conflict, reason, "The edits themselves show what they changed.")
}

/// Says that this program takes no edits back.
pub(crate) fn read_only() -> Box<Problem> {
    of(Code::ToolDisabled, "This page was started with --read-only: nothing is taken back.", "")
}

/// Says that at most `most` edits are taken back at once.
pub(crate) fn too_many(most: usize) -> Box<Problem> {
    of(
        Code::TooLarge,
        format!("More than {most} edits are not taken back at once."),
        "Begin with the newest.",
    )
}

/// Makes the problem of an edit whose files this machine does not reach.
pub(crate) fn elsewhere(id: &EditId, root: &str) -> Box<Problem> {
    let reason = format!("Edit {id} changed files of {root}, which this machine does not reach.");
    of(Code::Conflict, reason, "Take it back on a machine that does.")
}

/// Makes the problem of an id under which displaced bytes are kept, not an edit.
pub(crate) fn displaced(id: &EditId) -> Box<Problem> {
    let hint = format!("Its bytes: mcp-text-editor history --contents {id}");
    of(Code::Conflict, format!("{id} is no edit, but what an interrupted one had displaced."), hint)
}

/// Makes the problem of an edit whose directories cannot be opened.
pub(crate) fn not_opened(why: &str) -> Box<Problem> {
    of(Code::IoError, format!("The files of the edit cannot be opened: {why}."), "")
}

/// Makes the problem of a request that is malformed.
pub(crate) fn invalid(what: impl Into<String>) -> Box<Problem> {
    of(Code::InvalidArguments, what, "")
}

/// Says that the program was stopped before an edit was taken back.
pub(crate) fn stopped() -> Problem {
    Problem::new(Code::Cancelled, "The program was told to end before this edit was taken back.", "")
}

/// Says that no further request is begun, because the program ends.
pub(crate) fn ending() -> Box<Problem> {
    of(Code::Cancelled, "The program is ending.", "")
}

/// Says that something is wrong with the program itself.
pub(crate) fn defect() -> Box<Problem> {
    of(Code::InternalError, "That failed by a defect of this program.", "Its log on the terminal says more.")
}

fn of(code: Code, reason: impl Into<String>, hint: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::new(code, reason, hint))
}
