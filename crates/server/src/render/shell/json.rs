//! Renders past edits for programs: one JSON object per line, with everything that the history has.

use std::time::SystemTime;

use jiff::Timestamp;
use mcp_text_editor_store::{ChangeKind, Entry};
use serde_json::{Value, json};

use super::stat::Counts;
use crate::render::escape::{json_text, shown};
use crate::render::history::{HistoryRow, kind, rows};

/// Renders an edit as one line. docs/history.md describes each member. Later versions can add members, but
/// never change one.
pub(crate) fn line(entry: &Entry) -> String {
    let mut object = json!({"edit_id": entry.id.to_string(), "time": time(entry.time), "tool": entry.tool});
    let mut insert = |key: &str, value: Option<Value>| {
        if let (Some(value), Some(object)) = (value, object.as_object_mut()) {
            object.insert(key.to_owned(), value);
        }
    };
    insert("client", entry.client.as_ref().map(|client| json!(client)));
    insert("session", entry.session.as_ref().map(|session| json!(session)));
    insert("undoes", entry.undoes.as_ref().map(|id| json!(id.to_string())));
    insert("undone_by", entry.undone_by.as_ref().map(|id| json!(id.to_string())));
    insert("files", Some(rows(entry).iter().map(file).collect()));
    json_text(&object) + "\n"
}

fn file(HistoryRow { from, file }: &HistoryRow<'_>) -> Value {
    let change = if from.is_some() { "moved" } else { kind(file.kind) };
    let counts = Counts::of(&file.diff);
    let mut object = serde_json::Map::new();
    let mut insert = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    insert("file_path", Some(json!(shown(&file.path))));
    insert("relative_path", Some(json!(shown(&file.relative))));
    insert("change", Some(json!(change)));
    insert("moved_from", from.map(|from| json!(shown(&from.path))));
    insert("encoding", Some(json!(file.encoding.name())));
    // For a moved file, the history has rows for the old and the new path. The row of the old path has the
    // digest before the edit.
    let before = from.and_then(|from| from.before.as_ref()).or(file.before.as_ref());
    insert("hash_before", before.map(|digest| json!(digest.to_string())));
    insert("hash_after", file.after.as_ref().map(|digest| json!(digest.to_string())));
    insert("lines_added", counts.is_whole.then(|| json!(counts.added)));
    insert("lines_removed", counts.is_whole.then(|| json!(counts.removed)));
    insert("diff", (file.kind != ChangeKind::Displaced).then(|| json!(file.diff)));
    insert("diff_is_cut", (!counts.is_whole).then(|| json!(true)));
    Value::Object(object)
}

/// Prints the time in UTC, to the millisecond (RFC 3339).
pub(super) fn time(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{stamp:.3}")
}
