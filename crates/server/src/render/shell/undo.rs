//! Words what an undo did or would do, and why it cannot be done.

use std::fmt::Write as _;

use mcp_text_editor_store::{ChangeKind, Entry, EntryFile, Undone, Warning};

use super::diff::changes;
use super::edits::path;
use super::{DIM, ID, STRONG};
use crate::problem::Problem;
use crate::render::edit::words;
use crate::render::escape::on_one_line;

/// Says what was taken back or, for a dry run, what would be.
pub(crate) fn undone(undone: &Undone, dry_run: bool) -> String {
    let mut out = String::new();
    let _ = match undone.outcome.edit_id.as_ref() {
        Some(by) => writeln!(out, "undone, as edit {ID}{by}{ID:#}, which can be undone, too"),
        None if dry_run => writeln!(out, "this is what it would change:"),
        None => writeln!(out, "undone"),
    };
    for edited in &undone.outcome.files {
        let Some(file) = undone.entry.files.get(edited.entry) else { continue };
        let _ = match undone.entry.moved_at(edited.entry) {
            Some((from, to)) => writeln!(out, "{STRONG}moved {} to {}{STRONG:#}", path(to), path(from)),
            None => writeln!(out, "{STRONG}{} {}{STRONG:#}", becomes(file), path(file)),
        };
        for warning in edited.warnings.iter().filter(|warning| **warning != Warning::Removed) {
            let _ = writeln!(out, "{}", on_one_line(&words(warning)));
        }
        changes(edited.diff.as_deref().unwrap_or_default(), &mut out);
    }
    out
}

fn becomes(file: &EntryFile) -> &'static str {
    match file.kind {
        ChangeKind::Created => "removed",
        ChangeKind::Removed => "created",
        ChangeKind::Changed | ChangeKind::Displaced => "changed",
    }
}

/// Says what is in the way of an undo.
pub(crate) fn problems<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    let mut out = String::new();
    for problem in problems {
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}", on_one_line(&problem.reason));
        let Some(conflict) = &problem.conflict else { continue };
        out.push_str("the edit to be undone:\n");
        changes(&conflict.diff, &mut out);
        if let Some(later) = &conflict.later {
            let (id, tool) = (&later.edit_id, on_one_line(&later.tool));
            let _ = writeln!(out, "in the way: {ID}edit {id}{ID:#}, made {} by {tool}", later.time);
            changes(&later.diff, &mut out);
        }
        if let [.., own] = conflict.together.as_slice() {
            let many = conflict.together.len();
            let _ =
                writeln!(out, "these {many} go together: mcp-text-editor undo --with-later {ID}{own}{ID:#}");
        }
    }
    out
}

/// The error if there is no terminal at which to ask.
pub(crate) const NO_TERMINAL: &str = "there is no terminal at which to ask: name the edits (mcp-text-editor undo EDIT_ID …), or say all \
     since a moment (--since WHEN --yes); --dry-run shows what would change";

/// The text if there is nothing to take back.
pub(crate) const NOTHING: &str = "there is nothing to take back\n";

/// The text if the person's answers leave nothing to do.
pub(crate) const LEFT: &str = "nothing was changed\n";

/// The answers that can be given about an edit.
pub(crate) const ANSWERS: &str = "y  take this edit back\nn  leave it\na  take it and all that follow back\nq  leave it and all that follow\n";

/// The answers that can be given at the end.
pub(crate) const CONFIRM: &str = "y  do it now\nn  change nothing\n";

/// Asks about an edit.
pub(crate) fn question(entry: &Entry, number: usize, of: usize) -> String {
    let files = entry.files.first().map(path).unwrap_or_default();
    let more = match entry.files.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    format!("{STRONG}({number}/{of}) take back edit {} of {files}{more}? [y,n,a,q,?]{STRONG:#} ", entry.id)
}

/// Asks before anything is done.
pub(crate) fn confirm(count: usize) -> String {
    let edits = if count == 1 { "1 edit".to_owned() } else { format!("{count} edits, the newest first") };
    format!("{STRONG}take back {edits}? [y,n,?]{STRONG:#} ")
}

/// Says that the edits which follow would be taken back.
pub(crate) fn would_take_back() -> String {
    format!("{DIM}would be taken back:{DIM:#}\n")
}

/// Says that an edit cannot be taken back. The caller adds the obstacles.
pub(crate) fn not_taken_back(entry: &Entry) -> String {
    format!("{ID}edit {}{ID:#} cannot be taken back:\n", entry.id)
}

/// Says that a series is not taken back, because there are obstacles to some of its edits.
pub(crate) fn stands(against: usize, of: usize) -> String {
    format!(
        "something stands against {against} of {of} edits, and nothing was changed; --interactive leaves them out"
    )
}

/// Says that one edit of a series was taken back.
pub(crate) fn undone_of_series(undone: &Undone) -> String {
    let mut out = format!("{ID}edit {}{ID:#} is ", undone.entry.id);
    out.push_str(&self::undone(undone, false));
    out
}

/// Says that a series was stopped.
pub(crate) fn stopped(entry: &Entry, done: usize, of: usize, because: &str) -> String {
    format!("edit {} is not undone: {}; {done} of {of} edits were", entry.id, on_one_line(because))
}

/// Says that an edit is not undone, because its directories cannot be opened.
pub(crate) fn not_served(id: &str, why: &str) -> String {
    format!(
        "edit {id} is not undone: {why}; put the directory back, or see what the edit changed: mcp-text-editor history show {id}"
    )
}

/// Says that an edit is not undone, because this machine does not reach the files of this root.
pub(crate) fn elsewhere(id: &str, root: &str) -> String {
    format!(
        "edit {id} is not undone: it changed files of {}, which this machine does not reach; undo it on one that does, or say \
         where that is here: --root-name NAME=DIRECTORY, on all machines with the same name",
        on_one_line(root)
    )
}
