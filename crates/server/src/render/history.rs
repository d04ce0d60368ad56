//! Formats past edits for replies: one line per edit for a model, one object per edit for a program. Also
//! words the reasons why an edit is not undone.

use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use mcp_text_editor_store::{
    ChangeKind, EditId, Entry, EntryFile, HISTORY_FILE, LaterEdit, NotKept, Remedy, UndoProblems,
};
use serde_json::{Value, json};

use super::escape::{on_one_line, path_by_itself, shown};
use super::explain::{self, Call, CalledFile};
use crate::clients::{Capacity, most};
use crate::config::ToolSet;
use crate::problem::{Code, Later, Problem, UndoConflict};
use crate::tool_id::ToolId;

/// The room that is reserved for the last line of a list, or for the JSON around a list.
const ROOM_FOR_NOTE: usize = 200;

/// Lists the edits that fit, one line per edit. If not even the first edit fits, lists only as many of its
/// files as fit.
pub(crate) fn text(entries: &[Entry], truncated: bool, capacity: &Capacity) -> String {
    if entries.is_empty() {
        return "[no edits are kept]".to_owned();
    }
    let mut out = String::new();
    let mut shown = 0;
    let mut left = capacity.whole.saturating_sub(ROOM_FOR_NOTE);
    for entry in entries {
        let mut text = line(entry, usize::MAX);
        if shown == 0 && capacity.measure.of(&text) > left {
            let files = most(entry.files.len(), |files| capacity.measure.of(&line(entry, files)) <= left);
            text = line(entry, files);
        }
        let Some(rest) = left.checked_sub(capacity.measure.of(&text)).filter(|_| shown + 2 < capacity.lines)
        else {
            break;
        };
        left = rest;
        out.push_str(&text);
        shown += 1;
    }
    let shown = usize::try_from(shown).unwrap_or(usize::MAX);
    if truncated || shown < entries.len() {
        let _ = write!(out, "[the newest {shown}; ask for a file_path, or by limit for more]");
    }
    out.trim_end_matches('\n').to_owned()
}

/// One file of an edit.
pub(crate) struct HistoryRow<'a> {
    /// The file at its old path, if it was moved.
    pub(crate) from: Option<&'a EntryFile>,
    /// The change. If the file was moved and edited, this is the edit.
    pub(crate) file: &'a EntryFile,
}

/// Returns the files of an edit, each once. For a moved file, the history has rows for the old and the new
/// path, and then a row for the edit of the file, if it was edited.
pub(crate) fn rows(entry: &Entry) -> Vec<HistoryRow<'_>> {
    let mut out = Vec::new();
    let mut index = 0;
    while let Some(file) = entry.files.get(index) {
        let Some((from, to)) = entry.moved_at(index) else {
            out.push(HistoryRow { from: None, file });
            index += 1;
            continue;
        };
        let is_its = |next: &&EntryFile| next.kind == ChangeKind::Changed && next.path == to.path;
        let edit = entry.files.get(index + 2).filter(is_its);
        out.push(HistoryRow { from: Some(from), file: edit.unwrap_or(to) });
        index += if edit.is_some() { 3 } else { 2 };
    }
    out
}

/// Renders an edit as one line, with at most `most` of its files.
fn line(entry: &Entry, most: usize) -> String {
    let path = |file: &EntryFile| path_by_itself(&shown(&file.path)).into_owned();
    let file = |row: &HistoryRow<'_>| match row.from {
        Some(from) if row.file.kind == ChangeKind::Changed => {
            format!("moved {} to {} and changed it", path(from), path(row.file))
        }
        Some(from) => format!("moved {} to {}", path(from), path(row.file)),
        None => format!("{} {}", kind(row.file.kind), path(row.file)),
    };
    let rows = rows(entry);
    let mut files: Vec<String> = rows.iter().take(most).map(file).collect();
    let more = rows.len() - files.len();
    if more > 0 {
        files.push(format!("{more} more files"));
    }
    let mut out =
        format!("{} {} {}: {}", entry.id, time(entry.time), on_one_line(&entry.tool), files.join(", "));
    if let Some(undoes) = &entry.undoes {
        let _ = write!(out, " (undoes {undoes})");
    }
    if let Some(by) = &entry.undone_by {
        let _ = write!(out, " (undone by {by})");
    }
    out.push('\n');
    out
}

/// Renders the edits that fit as objects. If not even the first edit fits, its object has only as many files
/// as fit.
pub(crate) fn json(entries: &[Entry], capacity: &Capacity) -> Vec<Value> {
    let mut left = capacity.whole.saturating_sub(ROOM_FOR_NOTE);
    let weight = |value: &Value| capacity.measure.of(&value.to_string()) + 1;
    let mut out = Vec::new();
    for entry in entries {
        let mut value = entry_json(entry, usize::MAX);
        if out.is_empty() && weight(&value) > left {
            let files = most(entry.files.len(), |files| weight(&entry_json(entry, files)) <= left);
            value = entry_json(entry, files);
        }
        let Some(rest) = left.checked_sub(weight(&value)) else { break };
        left = rest;
        out.push(value);
    }
    out
}

fn entry_json(entry: &Entry, most: usize) -> Value {
    let rows = rows(entry);
    let files: Vec<Value> = rows
        .iter()
        .take(most)
        .map(|HistoryRow { from, file }| {
            let mut object = json!({"file_path": shown(&file.path), "change": kind(file.kind)});
            if let (Some(from), Some(object)) = (from, object.as_object_mut()) {
                object.insert("change".to_owned(), json!("moved"));
                object.insert("moved_from".to_owned(), json!(shown(&from.path)));
            }
            for (key, digest) in [("hash_before", &file.before), ("hash_after", &file.after)] {
                if let (Some(digest), Some(object)) = (digest, object.as_object_mut()) {
                    object.insert(key.to_owned(), json!(digest.to_string()));
                }
            }
            object
        })
        .collect();
    let mut object = json!({
        "edit_id": entry.id.to_string(),
        "time": time(entry.time),
        "tool": entry.tool,
        "files": files,
    });
    let not_shown = rows.len().saturating_sub(most);
    if let (true, Some(object)) = (not_shown > 0, object.as_object_mut()) {
        object.insert("files_not_shown".to_owned(), json!(not_shown));
    }
    for (key, id) in [("undoes", &entry.undoes), ("undone_by", &entry.undone_by)] {
        if let (Some(id), Some(object)) = (id, object.as_object_mut()) {
            object.insert(key.to_owned(), json!(id.to_string()));
        }
    }
    object
}

/// Returns the word for a kind of change.
pub(crate) fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Changed => "changed",
        ChangeKind::Created => "created",
        ChangeKind::Removed => "removed",
        ChangeKind::Displaced => "displaced",
    }
}

/// Prints a time in UTC, to the second (RFC 3339). A time outside the years -9999 to 9999, which a file can
/// have, is printed as the nearest time inside.
pub(crate) fn time(time: SystemTime) -> String {
    let last = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    let stamp = Timestamp::try_from(time).unwrap_or(last);
    format!("{stamp:.0}")
}

/// Lists the problems of an undo, each with the index of the file that it concerns.
pub(crate) fn undo_problems(call: Call<'_>, found: &UndoProblems) -> Vec<(usize, Problem)> {
    let path = |file: usize| {
        let file = found.entry.files.get(file);
        file.map_or(Path::new(""), |file| file.path.as_path()).to_string_lossy().into_owned()
    };
    let conflicts = found.conflicts.iter().map(|conflict| {
        let file_path = path(conflict.file);
        let was_there = found.entry.files.get(conflict.file).is_some_and(|file| file.after.is_some());
        let later = conflict.later.as_ref();
        let told = later.and_then(|later| later.entry.as_ref());
        let (reason, hint) = match (conflict.now, later) {
            (Some(_), None) if !was_there => {
                let reason = format!("there is another file {file_path} by now, not through this server");
                (reason, "move or remove that one first, if the old one is to come back".to_owned())
            }
            (now, Some(LaterEdit { entry: None, left_it_so })) => {
                beyond_roots(&file_path, now.is_some(), *left_it_so)
            }
            (now, Some(LaterEdit { entry: Some(later), left_it_so: true })) => {
                let by = &later.id;
                if later.undoes.as_ref() == Some(&found.entry.id) {
                    let reason = format!("the edit of {file_path} is undone already, by edit {by}");
                    (reason, format!("nothing is left to do; to have the edit again, undo edit {by}"))
                } else {
                    let what = if now.is_some() { "changed" } else { "removed" };
                    (format!("{file_path} was {what} again by edit {by}"), before(&found.together, by))
                }
            }
            (None, _) => {
                (format!("{file_path} is gone"), "create the file again, if it is wanted".to_owned())
            }
            (Some(_), _) => {
                let first = told.map_or_else(
                    || ", not through this server".to_owned(),
                    |later| format!(", first by edit {}, then not through this server", later.id),
                );
                let hint = "read the file, and restore the lines you want by a patch";
                (format!("{file_path} has changed since{first}"), hint.to_owned())
            }
        };
        let diff_of = |entry: &Entry, file_path: &str| {
            let file = entry.files.iter().find(|file| file.path.to_string_lossy() == file_path);
            file.map(|file| file.diff.clone()).unwrap_or_default()
        };
        let later = told.map(|later| Later {
            edit_id: later.id.to_string(),
            time: time(later.time),
            tool: later.tool.clone(),
            diff: diff_of(later, &file_path),
        });
        let diff = diff_of(&found.entry, &file_path);
        let mut problem = Problem::new(Code::Conflict, reason, hint).of_file(file_path);
        problem.file_hash = conflict.now;
        let together = found.together.iter().map(ToString::to_string).collect();
        problem.conflict = Some(Box::new(UndoConflict { diff, later, together }));
        (conflict.file, problem)
    });
    let problems = found.problems.iter().map(|problem| {
        let file_path = path(problem.entry);
        let named = CalledFile::by_path(&file_path);
        (problem.entry, explain::edit_problem(call, named, problem))
    });
    conflicts.chain(problems).collect()
}

/// Says which edits to undo first: `together` ends with the edit itself; before it are the later edits that
/// must be undone, too.
fn before(together: &[EditId], by: &EditId) -> String {
    match together {
        [later @ .., own] if later.len() > 1 => {
            let later: Vec<String> = later.iter().map(ToString::to_string).collect();
            format!(
                "these {} go together: undo {}, in this order, then {own}",
                later.len() + 1,
                later.join(", ")
            )
        }
        _ => format!("undo edit {by} first"),
    }
}

/// Says that a later edit is in the way. Nothing else may be said about this edit, because not all of its
/// files lie in the allowed directories.
fn beyond_roots(file_path: &str, is_there: bool, left_it_so: bool) -> (String, String) {
    let edit = "another edit through this server, which also concerns files outside the allowed directories";
    let reason = match (is_there, left_it_so) {
        (true, true) => format!("{file_path} was changed again by {edit}"),
        (false, true) => format!("{file_path} was removed again by {edit}"),
        (true, false) => {
            format!("{file_path} has changed since, first by {edit}, then not through this server")
        }
        (false, false) => format!("{file_path} was changed again by {edit}, and is gone now"),
    };
    let hint = if is_there {
        "read the file, and restore the lines you want by a patch; only a person can undo that edit"
    } else {
        "create the file again, if it is wanted; only a person can undo that edit"
    };
    (reason, hint.to_owned())
}

/// Makes the problem of an edit that the history does not have.
pub(crate) fn unknown(offered: &ToolSet, edit_id: &str) -> Problem {
    let shown: String = edit_id.chars().take(40).collect();
    let lists = if offered.contains(ToolId::Edits) {
        format!("{} lists the edits that are kept; ", ToolId::Edits.name())
    } else {
        "the id is in the reply to the edit; ".to_owned()
    };
    let hint =
        lists + "old edits are deleted, and edits of files outside the allowed directories are not offered";
    Problem::new(Code::NotFound, format!("no edit \"{shown}\" is kept"), hint).suggest(ToolId::Edits)
}

/// Makes the problem of an id under which recovery has kept bytes, which no call can restore.
pub(crate) fn displaced(id: &EditId) -> Problem {
    let reason = format!("{id} is no edit, but what an interrupted one had displaced");
    let hint = format!("a person gets its bytes by: mcp-text-editor history --contents {id}");
    Problem::new(Code::Conflict, reason, hint)
}

/// Says what a person can do about a history that is not available.
pub(crate) fn help(state: Option<&Path>, remedy: Remedy) -> String {
    let file = state.map_or_else(|| HISTORY_FILE.into(), |state| state.join(HISTORY_FILE));
    let file = shown(&file);
    match remedy {
        Remedy::Retry => format!("a person can try again; if it stays so, look at {file}"),
        Remedy::Forget => {
            "a person can remove it, and so begin a new one, with: mcp-text-editor history forget".to_owned()
        }
        Remedy::MoveAway => format!(
            "it is left alone, since that other program or version may need it; a person can begin a new history by moving \
             {file} away, and {HISTORY_FILE}-wal and {HISTORY_FILE}-shm beside it"
        ),
        Remedy::Database => "a person can look at the database: that is what it, or the way to it, says".to_owned(),
        Remedy::RootName => {
            "a person can start the server with `--root-name NAME=DIRECTORY`, on each machine with the same name".to_owned()
        }
        Remedy::StateDirectory => {
            "a person can set MCP_TEXT_EDITOR_STATE_DIR to a directory that can be written to".to_owned()
        }
    }
}

/// Makes the problem of a history that cannot be read.
pub(crate) fn unreadable(state: Option<&Path>, reason: &NotKept) -> Problem {
    match reason {
        NotKept::Unavailable { reason, remedy } => {
            let hint = format!("restore the lines you want by a patch; {}", help(state, *remedy));
            Problem::new(Code::IoError, format!("the history of edits cannot be read: {reason}"), hint)
                .suggest(ToolId::Patch)
        }
        _ => Problem::new(
            Code::NotFound,
            "this server keeps no history of edits",
            "restore the lines you want by a patch; whoever configures the server can have it keep a history",
        )
        .suggest(ToolId::Patch),
    }
}
