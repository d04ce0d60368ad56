//! Words the problems of names that are taken, and of symbolic links whose target does not exist.

use std::borrow::Cow;
use std::path::Path;

use mcp_text_editor_store::{Existing, SpecialFile, StoreErrorKind};
use serde_json::json;

use super::call::{Call, CalledFile, reading, written};
use crate::problem::{Code, Problem};
use crate::render::escape::shown;
use crate::tool_id::ToolId;

/// Makes the problem of a file that is to be created under a name that is taken.
pub(super) fn exists(call: Call<'_>, named: CalledFile<'_>, existing: &Existing) -> Problem {
    let file_path = named.file_path;
    match existing {
        Existing::DanglingLink { target } => {
            let (what, hint) = dangling(call, named, target);
            Problem::new(Code::AlreadyExists, format!("{file_path} already exists: it is {what}"), hint)
        }
        Existing::NotText { digest } => {
            let reason = format!("{file_path} already exists, and is not a file that reads as text");
            let mut problem = Problem::new(Code::AlreadyExists, reason, "choose another name");
            problem.file_hash = *digest;
            problem
        }
        Existing::Unread { kind } => {
            let reason = format!("{file_path} already exists{}", unread(kind));
            Problem::new(Code::AlreadyExists, reason, "choose another name")
        }
        Existing::Text { digest, total_lines, .. } if call.tool == ToolId::CopyLines => {
            let read = reading(call, named, None).map_or_else(String::new, |read| format!(" (call {read})"));
            let hint = format!(
                "to put the lines into it, read it{read}, and send the call with its file_hash and with after or before"
            );
            let problem = Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint);
            Problem {
                file_hash: Some(*digest),
                total_lines: Some(*total_lines),
                ..problem.suggest(ToolId::Get)
            }
        }
        Existing::Text { digest, total_lines, lines_digest, encoding } => {
            let place = if *total_lines == 0 {
                ("old_string", json!(""))
            } else {
                ("ranges", json!([{"start": 1, "range_hash": call.hashes.print(lines_digest)}]))
            };
            let parts = [("file_path", json!(file_path)), place];
            let new = ("new_string", own(named, "new_string"));
            let hint = call.naming(
                ToolId::Patch,
                |_| {
                    let replace = written(ToolId::Patch, &parts, new, encoding.as_deref());
                    format!("to replace everything in it, call {replace}")
                },
                || "choose another name, or edit the file that is there".to_owned(),
            );
            let mut problem = Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint)
                .suggest(ToolId::Patch);
            problem.file_hash = Some(*digest);
            problem.total_lines = Some(*total_lines);
            problem
        }
    }
}

/// Makes the problem of a symbolic link that was to be moved or removed.
pub(super) fn link(call: Call<'_>, named: CalledFile<'_>, target: &Path) -> Problem {
    let (what, key) = match call.tool {
        ToolId::Move if call.is_entry => ("moved", "file_path"),
        ToolId::Move => ("moved", "from"),
        _ => ("removed", "file_path"),
    };
    let reason =
        format!("{} is a symbolic link to {}, and links are not {what}", named.file_path, shown(target));
    let hint = match target.to_str() {
        Some(target) => format!(
            "if the file that it leads to is meant, send the call with \"{key}\": {}; the link then leads to nothing",
            json!(target)
        ),
        None => "name the file that it leads to".to_owned(),
    };
    Problem::new(Code::NotARegularFile, reason, hint)
}

/// Makes the problem of a file that is to be moved, or to come back, to a path that is taken. If a directory
/// has that path, `inside` is the path that the file would have in the directory.
pub(super) fn taken(call: Call<'_>, file_path: &str, by: &Existing, inside: Option<&Path>) -> Problem {
    let other = match call.tool {
        ToolId::Move => "choose another name: a move never overwrites",
        _ => "move or remove that one first, if the old one is to come back",
    };
    let (reason, hint) = match (inside, by) {
        (Some(_), _) if call.tool != ToolId::Move => {
            (format!("{file_path} already exists: it is a directory"), other.to_owned())
        }
        (Some(inside), _) => {
            let hint = inside.to_str().map_or_else(
                || other.to_owned(),
                |inside| {
                    let key = if call.is_entry { "move_to" } else { "to" };
                    format!("to move the file into it, send the call with \"{key}\": {}", json!(inside))
                },
            );
            (format!("{file_path} already exists: it is a directory"), hint)
        }
        (None, Existing::DanglingLink { target }) => {
            let target = shown(target);
            let reason = format!(
                "{file_path} already exists: it is a symbolic link to {target}, which does not exist"
            );
            (reason, other.to_owned())
        }
        (None, Existing::Text { digest, .. }) => {
            let file_hash = call.hashes.print(digest);
            let hint = call.naming(
                ToolId::Remove,
                |name| {
                    let first = if call.is_entry {
                        let entry = json!({"file_path": file_path, "file_hash": file_hash, "remove": true});
                        format!("add the entry {entry}")
                    } else {
                        format!(
                            "first call {name} {}",
                            json!({"file_path": file_path, "file_hash": file_hash})
                        )
                    };
                    format!("{other}; or, if that file is to go, {first}")
                },
                || other.to_owned(),
            );
            (format!("{file_path} already exists"), hint)
        }
        (None, Existing::NotText { .. }) => (format!("{file_path} already exists"), other.to_owned()),
        (None, Existing::Unread { kind }) => {
            (format!("{file_path} already exists{}", unread(kind)), other.to_owned())
        }
    };
    let mut problem = Problem::new(Code::AlreadyExists, reason, hint);
    if let Existing::Text { digest, total_lines, .. } = by {
        (problem.file_hash, problem.total_lines) = (Some(*digest), Some(*total_lines));
    }
    problem
}

/// Says why the file under a taken name could not be read.
fn unread(kind: &StoreErrorKind) -> Cow<'static, str> {
    match kind {
        StoreErrorKind::IsADirectory => ": it is a directory".into(),
        StoreErrorKind::NotARegularFile { what } => format!(": it is {}", special(*what)).into(),
        StoreErrorKind::PermissionDenied | StoreErrorKind::Private(_) | StoreErrorKind::NoKey => {
            ", and the system denies reading it".into()
        }
        _ => ", and could not be read".into(),
    }
}

/// Names a special file.
pub(super) fn special(what: SpecialFile) -> &'static str {
    match what {
        SpecialFile::Fifo => "a FIFO",
        SpecialFile::Socket => "a socket",
        SpecialFile::Device => "a device",
        SpecialFile::Other => "a special file",
    }
}

/// Says what a dangling link is, and which call creates its target.
pub(super) fn dangling(call: Call<'_>, named: CalledFile<'_>, target: &Path) -> (String, String) {
    let what = format!("a symbolic link to {}, which does not exist", shown(target));
    let check = || "check where the link leads; a person can change it".to_owned();
    let hint = target.to_str().map_or_else(check, |target| {
        call.naming(
            ToolId::Create,
            |_| format!("to create the file that it leads to, call {}", creation(named, target)),
            check,
        )
    });
    (what, hint)
}

/// Spells out the call that creates a file at this path with the text that the caller has for it.
pub(super) fn creation(named: CalledFile<'_>, file_path: &str) -> String {
    let parts = [("file_path", json!(file_path))];
    written(ToolId::Create, &parts, ("contents", own(named, "contents")), named.encoding)
}

/// Returns the caller's text for the whole file, as the value of `argument`; `Err` has words to stand in its
/// place.
fn own<'a>(named: CalledFile<'a>, argument: &str) -> Result<&'a str, &'static str> {
    let has_lone_cr = |text: &str| text.replace("\r\n", "").contains('\r');
    match named.whole_text() {
        None => Err("the whole text of the file"),
        // A creation accepts a lone CR, and a patch does not.
        Some(text) if argument == "new_string" && has_lone_cr(text) => {
            Err("the text as you gave it, without the CR that ends no line")
        }
        Some(text) => Ok(text),
    }
}
