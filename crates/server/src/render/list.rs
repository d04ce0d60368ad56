//! Files and directories in replies: a line each for a model, an object each for a program.

use std::fmt::Write as _;

use mcp_text_editor_store::{EntryKind, ListEntry};
use serde_json::{Value, json};

use super::escape::{json_text, path_by_itself};
use super::history::time;
use super::search::{End, Found};
use super::sheet::Sheet;
use crate::config::Output;
use crate::context::Reply;
use crate::room::Room;

/// The entries of a reply, as far as there is room for them.
#[derive(Debug)]
pub(crate) struct Page {
    output: Output,
    sheet: Sheet,
    text: String,
    values: Vec<Value>,
    shown: u64,
}

impl Page {
    /// Begins a reply.
    pub(crate) fn new(room: Room, output: Output) -> Self {
        let sheet = Sheet::new(room, output);
        Self { output, sheet, text: String::new(), values: Vec::new(), shown: 0 }
    }

    /// Returns how many entries are shown.
    pub(crate) fn shown(&self) -> u64 {
        self.shown
    }

    /// Shows an entry. Returns false if there is no room for it; the first is shown in any case.
    pub(crate) fn entry(&mut self, entry: &ListEntry) -> bool {
        let value = (self.output == Output::Json).then(|| entry_json(entry));
        let text = value.as_ref().map_or_else(|| entry_text(entry), |value| json_text(value) + ",");
        if !self.sheet.take(&text) {
            if !self.sheet.is_empty() {
                return false;
            }
            self.sheet.take_all();
        }
        match value {
            Some(value) => self.values.push(value),
            None => self.text.push_str(&text),
        }
        self.shown += 1;
        true
    }

    /// Ends the reply.
    pub(crate) fn finish(mut self, end: &End) -> Reply {
        match self.output {
            Output::Text => {
                if self.shown == 0 && end.next.is_none() && end.stopped.is_none() {
                    self.text.push_str("[no entries]\n");
                }
                end.tell(self.shown, Found::Entries, &mut self.text);
                Reply { text: self.text.trim_end_matches('\n').to_owned(), structured: None }
            }
            Output::Json => {
                let mut value = json!({"entries": self.values});
                end.add(Found::Entries, &mut value);
                Reply { text: json_text(&value), structured: Some(value) }
            }
        }
    }
}

/// Writes `path`, a tab and the bytes of a file, and another tab and its lines, if they were counted; of a directory the
/// path, which ends in a slash.
fn entry_text(entry: &ListEntry) -> String {
    let mut out = String::new();
    match entry.kind {
        EntryKind::Directory => {
            let slash = if entry.path.ends_with('/') { "" } else { "/" };
            let _ = write!(out, "{}", path_by_itself(&format!("{}{slash}", entry.path)));
        }
        EntryKind::File => {
            let _ = write!(out, "{}\t{}", path_by_itself(&entry.path), entry.bytes.unwrap_or_default());
            if let Some(lines) = entry.lines {
                let _ = write!(out, "\t{lines}");
            }
        }
    }
    out.push('\n');
    out
}

fn entry_json(entry: &ListEntry) -> Value {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
    };
    let mut value = json!({"path": entry.path, "kind": kind});
    if let Some(object) = value.as_object_mut() {
        if let Some(bytes) = entry.bytes.filter(|_| entry.kind == EntryKind::File) {
            object.insert("bytes".to_owned(), json!(bytes));
        }
        if let Some(lines) = entry.lines {
            object.insert("lines".to_owned(), json!(lines));
        }
        if let Some(modified) = entry.modified {
            object.insert("modified".to_owned(), json!(time(modified)));
        }
    }
    value
}
