//! Words failures for a person who looks at past edits in a page.
//!
//! Reverses the story of an edit: the result shows the changes of an undo.

use std::path::Path;

use mcp_text_editor_store::{EditId, NotKept, Remedy};
use serde_json::{Map, Value, json};

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

/// Reverses the story of a past edit, and makes it a proposal. The states before and after each file change
/// places, and so do added and removed lines; a created file is to be removed.
pub(crate) fn turned(mut story: Value) -> Value {
    if let Some(told) = story.as_object_mut() {
        told.insert("kind".to_owned(), json!("proposal"));
        told.remove("edit");
    }
    let files = story.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        turn_file(file);
    }
    story
}

fn turn_file(file: &mut Map<String, Value>) {
    swap(file, "before", "after");
    swap(file, "added", "removed");
    if file.contains_key("movedFrom") {
        swap(file, "path", "movedFrom");
        // These two fields belong to the other path of a moved file.
        file.remove("root");
        file.remove("relative");
    }
    let change = match file.get("change").and_then(Value::as_str) {
        Some("created") => "removed",
        Some("removed") => "created",
        Some(other) => other,
        None => "changed",
    };
    let change = json!(change);
    file.insert("change".to_owned(), change);
    let hunks = file.get_mut("hunks").and_then(Value::as_array_mut);
    for hunk in hunks.into_iter().flatten().filter_map(Value::as_object_mut) {
        swap(hunk, "oldStart", "newStart");
        if let Some(lines) = hunk.get_mut("lines").and_then(Value::as_array_mut) {
            *lines = turn_lines(std::mem::take(lines));
        }
    }
}

/// Makes added lines removed lines and vice versa. Removed lines come before added lines.
fn turn_lines(lines: Vec<Value>) -> Vec<Value> {
    let (mut out, mut added) = (Vec::with_capacity(lines.len()), Vec::new());
    for mut line in lines {
        let kind = match line.get("kind").and_then(Value::as_str) {
            Some("+") => "-",
            Some("-") => "+",
            _ => " ",
        };
        if let Some(line) = line.as_object_mut() {
            line.insert("kind".to_owned(), json!(kind));
        }
        match kind {
            "+" => added.push(line),
            "-" => out.push(line),
            _ => {
                out.append(&mut added);
                out.push(line);
            }
        }
    }
    out.append(&mut added);
    out
}

fn swap(object: &mut Map<String, Value>, one: &str, other: &str) {
    let (was_one, was_other) = (object.remove(one), object.remove(other));
    for (key, value) in [(one, was_other), (other, was_one)] {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_turned_round_twice_is_itself() {
        let line = |kind: &str, text: &str| json!({"kind": kind, "text": text});
        let lines = json!([
            line(" ", "a"),
            line("-", "b"),
            line("+", "c"),
            line("+", "d"),
            line(" ", "e"),
            line("-", "f")
        ]);
        let hunks = json!([{"oldStart": 3, "newStart": 4, "lines": lines}]);
        let files = json!([
            {"path": "/a", "root": "/", "relative": "a", "change": "changed", "before": {"hash": "1"}, "after": {"hash": "2"}, "added": 2, "removed": 3, "hunks": hunks},
            {"path": "/b", "change": "created", "after": {"hash": "3"}, "hunks": []},
            {"path": "/d", "change": "moved", "movedFrom": "/c", "hunks": []},
        ]);
        let story = json!({"version": 1, "kind": "edit", "files": files, "edit": {"id": "0123456789ab"}});
        let back = turned(story.clone());
        assert_eq!((&back["kind"], back.get("edit")), (&json!("proposal"), None));
        let [changed, created, moved] = [0, 1, 2].map(|file| &back["files"][file]);
        assert_eq!((&changed["before"]["hash"], &changed["after"]["hash"]), (&json!("2"), &json!("1")));
        assert_eq!((&changed["added"], &changed["removed"]), (&json!(3), &json!(2)));
        let hunk = &changed["hunks"][0];
        assert_eq!((&hunk["oldStart"], &hunk["newStart"]), (&json!(4), &json!(3)));
        let turned_lines =
            [line(" ", "a"), line("-", "c"), line("-", "d"), line("+", "b"), line(" ", "e"), line("+", "f")];
        assert_eq!(hunk["lines"], json!(turned_lines));
        assert_eq!(
            (&created["change"], &created["before"]["hash"], created.get("after")),
            (&json!("removed"), &json!("3"), None)
        );
        assert_eq!((&moved["path"], &moved["movedFrom"]), (&json!("/c"), &json!("/d")));
        assert_eq!(turned(back)["files"], story["files"]);
    }
}
