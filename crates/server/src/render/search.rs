//! Formats search hits and the entries of a list for replies: one line each for a model, as `grep` and `rg`
//! print hits, or one JSON object each for a program.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineNumber;
use mcp_text_editor_store::{EntryKind, LineCut, ListEntry, Match, TextLine};
use serde_json::{Value, json};

use super::escape::{path_before_number, path_by_itself};
use super::history::time;
use super::page::Page;

/// The hits of a reply.
#[derive(Debug)]
pub(crate) struct Hits {
    /// The page, which has as many hits as there is room for.
    pub(crate) page: Page,
    /// Whether lines around the hits are shown, too.
    has_context: bool,
    /// The file and the number of the line that was shown last.
    last: Option<(String, u64)>,
}

impl Hits {
    /// Begins a reply on this page.
    pub(crate) fn new(page: Page, has_context: bool) -> Self {
        Self { page, has_context, last: None }
    }

    /// Adds a hit in a file. If there is no room for the lines around the first hit, adds the hit without
    /// them. Returns `Break`, and adds nothing, if there is no room for the hit, or if the page is complete.
    pub(crate) fn show(&mut self, path: &str, hit: &Match) -> ControlFlow<()> {
        let Self { page, has_context, last } = self;
        let around = |is_whole| -> [&[TextLine]; 3] {
            if is_whole { [&hit.before, &hit.rest, &hit.after] } else { [&[], &[], &[]] }
        };
        let text = |is_whole| hit_text(path, hit, around(is_whole), *has_context, last.as_ref());
        let goes_on = page.show(text, |is_whole| hit_json(path, hit, around(is_whole)));
        if !page.is_empty() {
            *last = Some((path.to_owned(), hit.after.last().map_or(hit.end, |line| line.number).get()));
        }
        goes_on
    }
}

fn hit_text(
    path: &str,
    hit: &Match,
    [before, rest, after]: [&[TextLine]; 3],
    has_context: bool,
    last: Option<&(String, u64)>,
) -> String {
    let marks: &[char] = if has_context { &[':', '-'] } else { &[':'] };
    let name = path_before_number(path, marks);
    let first = before.first().unwrap_or(&hit.line).number.get();
    let goes_on = |(file, line): &(String, u64)| file == path && line + 1 == first;
    let mut out = String::new();
    if has_context && last.is_some_and(|last| !goes_on(last)) {
        out.push_str("--\n");
    }
    for line in before {
        context_line(&name, line, &mut out);
    }
    let end = Some(hit.end).filter(|end| *end != hit.line.number);
    hit_line(&name, (&hit.line, end), hit.range_hash.as_ref(), &mut out);
    for line in rest.iter().chain(after) {
        context_line(&name, line, &mut out);
    }
    out
}

/// Writes a hit as `path:number:text`, or `path:number-number:text` if it has several lines. If the digest of
/// the lines is given, it precedes the text.
fn hit_line(
    path: &str,
    (line, end): (&TextLine, Option<LineNumber>),
    digest: Option<&Digest>,
    out: &mut String,
) {
    let _ = write!(out, "{path}:{}", line.number);
    if let Some(end) = end {
        let _ = write!(out, "-{end}");
    }
    out.push(':');
    if let Some(digest) = digest {
        let _ = write!(out, "{}:", digest.short());
    }
    text_of(line, out);
}

/// Writes a line around a hit, or a further line of the hit, as `path-number-text`.
fn context_line(path: &str, line: &TextLine, out: &mut String) {
    let _ = write!(out, "{path}-{}-", line.number);
    text_of(line, out);
}

/// Writes the text of a line. If that is only a part of the line, a note before the text says which part.
fn text_of(line: &TextLine, out: &mut String) {
    if let Some(LineCut { from_char, line_length }) = line.cut {
        let last = from_char + (line.text.chars().count() as u64).saturating_sub(1);
        let _ = write!(out, "[characters {from_char}-{last} of {line_length}] ");
    }
    out.push_str(&line.text);
    out.push('\n');
}

fn hit_json(path: &str, hit: &Match, [before, rest, after]: [&[TextLine]; 3]) -> Value {
    let lines = std::iter::once(&hit.line).chain(rest).map(|line| line.text.as_str());
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut value = json!({"file_path": path, "line": hit.line.number.get(), "text": text});
    let Some(object) = value.as_object_mut() else { return value };
    if hit.end != hit.line.number {
        object.insert("end".to_owned(), json!(hit.end.get()));
    }
    if let Some(LineCut { from_char, line_length }) = hit.line.cut {
        object.insert("from_char".to_owned(), json!(from_char));
        object.insert("line_length".to_owned(), json!(line_length));
    }
    if let Some(digest) = &hit.range_hash {
        object.insert("range_hash".to_owned(), json!(digest.to_string()));
    }
    for (name, lines) in [("before", before), ("after", after)] {
        if !lines.is_empty() {
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            object.insert(name.to_owned(), json!(texts));
        }
    }
    value
}

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
