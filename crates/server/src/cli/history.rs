//! The subcommands `history` and `undo`: past edits for a person at a shell. Roots do not restrict a person.
//!
//! Output is written with colours; the caller's stream removes them where they are not wanted.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_text_editor_store::{
    Control, EditId, Entry, EntryFile, HISTORY_FILE, Kind, NotKept, Undo, UndoError, UndoProblems, Warning,
    Workspace, path_in_history,
};

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::render::edit::{Hashes, words};
use crate::render::escape::{on_lines, on_one_line};
use crate::render::explain::Call;
use crate::render::history::{Row, help, kind, rows, undo_problems};
use crate::tool_id::ToolId;

const ID: Style = AnsiColor::Yellow.on_default();
const STRONG: Style = Style::new().bold();
const PLACE: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const GONE: Style = AnsiColor::Red.on_default();
const ASIDE: Style = Style::new().dimmed();

/// Why a subcommand did not do what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The message says why.
    #[error("{0}")]
    Failed(String),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

type Done = Result<(), HistoryError>;

/// Whether a history of edits is kept in a state directory.
#[must_use]
pub fn is_kept_in(state_directory: &Path) -> bool {
    state_directory.join(HISTORY_FILE).is_file()
}

/// Whether an edit, or what recovery has kept under an id, is in the history.
#[must_use]
pub fn holds(workspace: &Workspace, id: &str) -> bool {
    EditId::parse(id).is_some_and(|id| matches!(workspace.history().get(&id), Ok(Some(_))))
}

/// Words a hint at a history that is kept elsewhere, where this one does not have all edits.
#[must_use]
pub fn elsewhere(state_directory: &Path) -> String {
    let directory = state_directory.display();
    let whose = if cfg!(windows) {
        "earlier versions, or servers to which their clients do not pass on MCP_TEXT_EDITOR_STATE_DIR"
    } else {
        "servers to which their clients pass on neither XDG_STATE_HOME nor MCP_TEXT_EDITOR_STATE_DIR (Codex does not)"
    };
    format!("more edits are kept in {directory}, by {whose}: mcp-text-editor history --state-dir {directory}")
}

/// Shows the edits, the newest first: all, or those of a file or of the files below a directory.
pub fn show(workspace: &Workspace, path: Option<&Path>, limit: usize, out: &mut impl Write) -> Done {
    let real = path.map(path_in_history);
    let found = workspace.history().list(real.as_deref(), limit.saturating_add(1), &|_| true);
    let mut entries = found.map_err(|reason| unreadable(workspace, &reason))?;
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    if entries.is_empty() {
        match path {
            Some(path) => writeln!(out, "no edits of {} are kept", on_one_line(&path.to_string_lossy()))?,
            None => writeln!(out, "no edits are kept")?,
        }
    }
    for entry in &entries {
        show_entry(entry, out)?;
    }
    if has_more {
        writeln!(out, "{ASIDE}the newest {limit}; --newest shows more{ASIDE:#}")?;
    }
    Ok(())
}

fn show_entry(entry: &Entry, out: &mut impl Write) -> Done {
    let (id, tool) = (&entry.id, on_one_line(&entry.tool));
    write!(out, "{ID}edit {id}{ID:#}  {}  {tool}", local_time(entry))?;
    if let Some(undoes) = &entry.undoes {
        write!(out, "  undoes {ID}{undoes}{ID:#}")?;
    }
    if let Some(by) = &entry.undone_by {
        write!(out, "  undone by {ID}{by}{ID:#}")?;
    }
    writeln!(out)?;
    for Row { from, file } in rows(entry) {
        match from {
            Some(from) => writeln!(out, "{STRONG}moved {} to {}{STRONG:#}", shown(from), shown(file))?,
            None => writeln!(out, "{STRONG}{} {}{STRONG:#}", kind(file.kind), shown(file))?,
        }
        if file.kind == Kind::Displaced {
            writeln!(
                out,
                "{ASIDE}An edit was cut off, and another program wrote to this file meanwhile. The bytes that it held \
                 before:\nmcp-text-editor history --contents {id}{ASIDE:#}"
            )?;
        }
        show_diff(&file.diff, out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Shows the changes of a diff without its head, whose path was shown before.
fn show_diff(diff: &str, out: &mut impl Write) -> Done {
    let is_head = |line: &&str| ["--- ", "+++ ", "rename "].iter().any(|lead| line.starts_with(lead));
    for line in diff.lines().skip_while(is_head) {
        let style = match line.as_bytes().first() {
            Some(b'@') => PLACE,
            Some(b'+') => ADDED,
            Some(b'-') => GONE,
            Some(b'\\') => ASIDE,
            _ => Style::new(),
        };
        writeln!(out, "{style}{}{style:#}", on_lines(line))?;
    }
    Ok(())
}

/// Writes the bytes that recovery has kept, unchanged.
pub fn contents(workspace: &Workspace, id: &str, out: &mut impl Write) -> Done {
    let (_, undos) = find(workspace, id)?;
    for undo in &undos {
        if let Undo::Displaced { contents } = undo {
            out.write_all(contents)?;
            return Ok(());
        }
    }
    Err(HistoryError::Failed(format!(
        "{id} is an edit, and not what one has displaced: mcp-text-editor undo {id} takes it back"
    )))
}

/// Forgets edits: all, or those of a file or of the files below a directory.
pub fn forget(workspace: &Workspace, path: Option<&Path>, out: &mut impl Write) -> Done {
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

/// Undoes an edit, wherever its files are.
pub fn undo(workspace: &mut Workspace, id: &str, dry_run: bool, out: &mut impl Write) -> Done {
    let (entry, undos) = find(workspace, id)?;
    workspace.serve_files_of(&entry, &undos).map_err(|error| HistoryError::Failed(error.to_string()))?;
    workspace.recover();
    let control = Control::of("undo");
    let undone =
        if dry_run { workspace.plan_undo(&entry.id, control) } else { workspace.undo(&entry.id, control) };
    let undone = match undone {
        Ok(undone) => undone,
        Err(UndoError::Unknown) => return Err(unknown(id)),
        Err(UndoError::History(reason)) => return Err(unreadable(workspace, &reason)),
        Err(UndoError::Displaced(_)) => {
            return Err(HistoryError::Failed(format!(
                "{id} is no edit, but what an interrupted one had displaced; \
                 its bytes: mcp-text-editor history --contents {id}"
            )));
        }
        Err(UndoError::Problems(found)) => return Err(not_undone(workspace, &found, out)?),
    };
    let by = undone.outcome.edit_id.as_ref();
    match by {
        Some(by) => writeln!(out, "undone, as edit {ID}{by}{ID:#}, which can be undone, too")?,
        None if dry_run => writeln!(out, "this is what it would change:")?,
        None => writeln!(out, "undone")?,
    }
    for edited in &undone.outcome.files {
        let Some(file) = undone.entry.files.get(edited.entry) else { continue };
        match undone.entry.moved_at(edited.entry) {
            Some((from, to)) => writeln!(out, "{STRONG}moved {} to {}{STRONG:#}", shown(to), shown(from))?,
            None => writeln!(out, "{STRONG}{} {}{STRONG:#}", undone_kind(file), shown(file))?,
        }
        for warning in edited.warnings.iter().filter(|warning| **warning != Warning::Removed) {
            writeln!(out, "{}", on_one_line(&words(warning)))?;
        }
        show_diff(edited.diff.as_deref().unwrap_or_default(), out)?;
    }
    Ok(())
}

/// The path of a file, as a terminal may have it.
fn shown(file: &EntryFile) -> String {
    on_one_line(&file.path.to_string_lossy())
}

fn undone_kind(file: &EntryFile) -> &'static str {
    match file.kind {
        Kind::Created => "removed",
        Kind::Removed => "created",
        Kind::Changed | Kind::Displaced => "changed",
    }
}

/// Shows what is in the way of an undo. Returns the error that says so, and that nothing was changed, if that is
/// true.
fn not_undone(
    workspace: &Workspace,
    found: &UndoProblems,
    out: &mut impl Write,
) -> Result<HistoryError, io::Error> {
    let many_files = found.entry.files.len() > 1;
    let (limits, cancel) = (&Limits::default(), &Cancel::never());
    let state = workspace.state_directory();
    // The problems' hints, which name tools, are not shown to people.
    let offered = &ToolSet::default();
    let (tool, hashes) = (ToolId::Undo, Hashes::Short);
    let call = Call { tool, workspace, state, is_entry: false, many_files, limits, cancel, offered, hashes };
    let problems = undo_problems(call, found);
    for (_, problem) in &problems {
        writeln!(out, "{STRONG}{}{STRONG:#}", on_one_line(&problem.reason))?;
        let Some(conflict) = &problem.conflict else { continue };
        writeln!(out, "the edit to be undone:")?;
        show_diff(&conflict.diff, out).or_else(only_io)?;
        if let Some(later) = &conflict.later {
            let (id, tool) = (&later.edit_id, on_one_line(&later.tool));
            writeln!(out, "in the way: {ID}edit {id}{ID:#}, made {} by {tool}", later.time)?;
            show_diff(&later.diff, out).or_else(only_io)?;
        }
    }
    let outcome = if problems.iter().any(|(_, problem)| problem.may_have_written) {
        "but files were left changed"
    } else {
        "and nothing was changed"
    };
    Ok(HistoryError::Failed(format!("edit {} is not undone, {outcome}", found.entry.id)))
}

fn only_io(error: HistoryError) -> io::Result<()> {
    match error {
        HistoryError::Io(error) => Err(error),
        HistoryError::Failed(_) => Ok(()),
    }
}

fn find(workspace: &Workspace, id: &str) -> Result<(Entry, Vec<Undo>), HistoryError> {
    let found = EditId::parse(id).map(|id| workspace.history().get(&id)).transpose();
    let found = found.map_err(|reason| unreadable(workspace, &reason))?;
    found.flatten().ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> HistoryError {
    let id = on_one_line(id);
    HistoryError::Failed(format!("no edit {id} is kept; mcp-text-editor history lists those that are"))
}

fn unreadable(workspace: &Workspace, reason: &NotKept) -> HistoryError {
    HistoryError::Failed(match reason {
        NotKept::Unavailable { reason, remedy } => {
            format!("the history cannot be read: {reason}; {}", help(workspace.state_directory(), *remedy))
        }
        _ => "there is no history: it is switched off".to_owned(),
    })
}

fn local_time(entry: &Entry) -> String {
    let stamp = Timestamp::try_from(entry.time).unwrap_or(Timestamp::UNIX_EPOCH);
    stamp.to_zoned(TimeZone::system()).strftime("%a %Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use mcp_text_editor_store::{EditProblem, Left, Operation, Reason, Remains, StoreError, StoreErrorKind};

    use super::*;

    #[test]
    fn nothing_was_changed_is_said_only_if_it_is_true() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::builder().root(directory.path()).build().unwrap();
        let said = |kind, left| {
            let entry = Entry {
                id: EditId::parse("0123456789ab").unwrap(),
                time: SystemTime::UNIX_EPOCH,
                tool: String::new(),
                client: None,
                session: None,
                undoes: None,
                undone_by: None,
                files: Vec::new(),
            };
            let error = StoreError { left, ..StoreError::new(Operation::Replace, Path::new("/a"), kind) };
            let problems = vec![EditProblem { entry: 0, reason: Reason::Store(error) }];
            let found = UndoProblems { entry, conflicts: Vec::new(), problems };
            not_undone(&workspace, &found, &mut io::sink()).unwrap().to_string()
        };
        let restored = said(StoreErrorKind::NoSpace, Vec::new());
        assert_eq!(restored, "edit 0123456789ab is not undone, and nothing was changed");
        let left =
            said(StoreErrorKind::NotRestored, vec![Left { path: "/a".into(), what: Remains::Changed }]);
        assert_eq!(left, "edit 0123456789ab is not undone, but files were left changed");
    }
}
