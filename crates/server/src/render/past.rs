//! Past edits in a reply: a line each for a model, an object each for a program.

use std::fmt::Write as _;
use std::time::SystemTime;

use jiff::Timestamp;
use mcp_text_editor_store::history::{Entry, Kind};
use serde_json::{Value, json};

use super::on_one_line;

/// The edits, one on each line, as far as they fit.
pub(crate) fn text(entries: &[Entry], truncated: bool, budget: usize) -> String {
    if entries.is_empty() {
        return "[no edits are kept]".to_owned();
    }
    let mut out = String::new();
    let mut shown = 0;
    for entry in entries {
        let line = line(entry);
        if shown > 0 && out.len() + line.len() > budget {
            break;
        }
        out.push_str(&line);
        shown += 1;
    }
    if truncated || shown < entries.len() {
        let _ = write!(out, "[the newest {shown}; ask for a file_path, or by limit for more]");
    }
    out.trim_end_matches('\n').to_owned()
}

fn line(entry: &Entry) -> String {
    let files: Vec<String> = entry
        .files
        .iter()
        .map(|file| format!("{} {}", kind(file.kind), on_one_line(&file.path.to_string_lossy())))
        .collect();
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

/// The edits as objects, as far as they fit.
pub(crate) fn json(entries: &[Entry], budget: usize) -> Vec<Value> {
    let mut used = 0;
    let mut out = Vec::new();
    for entry in entries {
        let value = entry_json(entry);
        used += value.to_string().len();
        if used > budget && !out.is_empty() {
            break;
        }
        out.push(value);
    }
    out
}

fn entry_json(entry: &Entry) -> Value {
    let files: Vec<Value> = entry
        .files
        .iter()
        .map(|file| {
            let mut object = json!({"file_path": file.path.to_string_lossy(), "change": kind(file.kind)});
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
    for (key, id) in [("undoes", &entry.undoes), ("undone_by", &entry.undone_by)] {
        if let (Some(id), Some(object)) = (id, object.as_object_mut()) {
            object.insert(key.to_owned(), json!(id.to_string()));
        }
    }
    object
}

/// What became of a file, in a word.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Changed => "changed",
        Kind::Created => "created",
        Kind::Removed => "removed",
        Kind::Displaced => "displaced",
    }
}

/// The time in UTC, to the second (RFC 3339).
pub(crate) fn time(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{stamp:.0}")
}
