//! Formats the entries of a list for replies: one line per file or directory for a model, one object for a
//! program.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use mcp_text_editor_store::{EntryKind, ListEntry};
use serde_json::{Value, json};

use super::escape::path_by_itself;
use super::history::time;
use super::page::Page;

/// Adds an entry to a page. Returns `Break`, and adds nothing, if the entry does not fit, or the page is
/// complete.
pub(crate) fn show(page: &mut Page, entry: &ListEntry) -> ControlFlow<()> {
    page.show(|_| entry_text(entry), |_| entry_json(entry))
}

/// Returns the line of an entry. For a file: its path, a tab and its size in bytes; if its lines were
/// counted, also a tab and their number. For a directory: its path, with a slash at the end.
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
