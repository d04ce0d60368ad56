//! Makes the story of an edit: the data that a view shows. `view/src/story.ts` names its fields.
//!
//! This module decides nothing, and has the same words as replies and errors. A story is bounded: data that
//! does not fit is counted, or marked as cut.

use std::path::Path;

use mcp_text_editor_core::diff::{self, Comparison, Hunks, RowEnd, RowSide};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_store::{Became, ChangeKind, Edited, Entry, EntryFile, Outcome, Warning};
use serde_json::{Map, Value, json};

use super::edit::words;
use super::escape::shown;
use super::history::{HistoryRow, kind, rows, time};
use super::shell::stat::{Counts, changed_line, sum};
use crate::context::SHOWN;
use crate::problem::{Failure, Problem};
use crate::tool_id::ToolId;

/// The key under which a reply to a client that shows views carries the story of its edit.
pub(crate) const KEY: &str = "mcp-text-editor/story";

/// The maximum bytes of JSON of a story's files, or of its problems.
const ROOM: usize = SHOWN;
/// The maximum number of files of an edit whose states are looked up. Further files have the diff from the
/// history.
const FILES_WITH_STATES: usize = 64;
/// The maximum number of lines of a state that is compared with another as a whole: each line takes some
/// bytes of memory.
const LINES_OF_STATE: u64 = 1 << 20;
/// The maximum bytes of each text of a problem.
const LONGEST_TEXT: usize = 16 << 10;

/// Makes the story of a past edit. `comparison` takes the index of a file in the entry, and compares the
/// file's states.
pub(crate) fn edit(
    entry: &Entry,
    can_undo: bool,
    mut comparison: impl FnMut(usize) -> Option<Comparison>,
) -> Value {
    let mut page = Page::new();
    for (number, row) in rows(entry).into_iter().enumerate() {
        let index = entry.files.iter().position(|file| std::ptr::eq(file, row.file));
        let index = index.filter(|_| number < FILES_WITH_STATES && page.more == 0);
        match index.and_then(&mut comparison) {
            Some(comparison) => page.compared(head_of(&row), &comparison),
            None => page.kept(head_of(&row), row.file),
        }
    }
    page.edit(entry, can_undo)
}

/// Makes the story of an edit that a call has just made, and that the history keeps.
pub(crate) fn kept(entry: &Entry, can_undo: bool, done: &Outcome) -> Value {
    let mut page = Page::new();
    // Both lists have the order of the call, but unchanged files have no row in the entry.
    let changed = done.files.iter().filter(|edited| !edited.warnings.contains(&Warning::Unchanged));
    for (row, edited) in rows(entry).into_iter().zip(changed) {
        let mut head = head_of(&row);
        warn(&mut head, edited);
        match &edited.comparison {
            Some(comparison) => page.compared(head, comparison),
            None => page.kept(head, row.file),
        }
    }
    page.edit(entry, can_undo)
}

/// Makes the story of an edit that is not kept in the history, or of a dry run.
pub(crate) fn outcome<'a>(
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Value {
    let mut page = Page::new();
    for edited in &done.files {
        let mut head = Map::from_iter([("path".to_owned(), json!(name(edited)))]);
        let change = match &edited.became {
            Became::Moved { from } => {
                head.insert("movedFrom".to_owned(), json!(from));
                "moved"
            }
            Became::Removed => "removed",
            Became::Created => "created",
            Became::Edited if edited.warnings.contains(&Warning::Removed) => "removed",
            Became::Edited => "changed",
        };
        head.insert("change".to_owned(), json!(change));
        warn(&mut head, edited);
        if let Some(comparison) = &edited.comparison {
            page.compared(head, comparison);
        } else {
            // The file is only moved.
            let digest = edited.digest.map(|digest| json!({"hash": digest.to_string()}));
            head.extend(digest.map(|digest| ("after".to_owned(), digest)));
            page.file(head, &Hunks::default());
        }
    }
    let mut story = page.story(if dry_run { "proposal" } else { "edit" });
    if dry_run {
        story.insert("tool".to_owned(), json!({"name": tool.name()}));
    }
    Value::Object(story)
}

fn warn(file: &mut Map<String, Value>, edited: &Edited) {
    if !edited.warnings.is_empty() {
        let warnings: Vec<_> = edited.warnings.iter().map(words).collect();
        file.insert("warnings".to_owned(), json!(warnings));
    }
}

/// Makes the story of the difference between two states of a file, including changes by other programs. A
/// state is `None` if the file did not exist.
pub(crate) fn difference(path: &Path, encoding: Encoding, states: [Option<&[u8]>; 2]) -> Value {
    let mut page = Page::new();
    let change = match states {
        [None, Some(_)] => "created",
        [Some(_), None] => "removed",
        _ => "changed",
    };
    let head =
        Map::from_iter([("path".to_owned(), json!(shown(path))), ("change".to_owned(), json!(change))]);
    let scans = states.map(|bytes| bytes.map(|bytes| scan(bytes, encoding)));
    let is_comparable = |scan: &Scan| scan.undecodable.is_none() && scan.lines.count() <= LINES_OF_STATE;
    let hunks = if scans.iter().flatten().all(is_comparable) {
        let [before, after] = [0, 1].map(|side| {
            let scan = scans.get(side).and_then(Option::as_ref);
            states.get(side).copied().flatten().zip(scan).map(|(bytes, scan)| Scanned::new(bytes, scan))
        });
        diff::states(before, after, ROOM)
    } else {
        Hunks { is_cut: true, ..Hunks::default() }
    };
    let [before, after] = scans;
    page.compared(head, &Comparison { before, after, hunks });
    Value::Object(page.story("difference"))
}

/// Returns some lines of a text, in the form of a story's lines that an edit did not change. Lines for which
/// there is no room are left out.
pub(crate) fn lines(text: &[u8], encoding: Encoding, lines: LineRange) -> Vec<Value> {
    let whole = scan(text, encoding);
    let Ok(bytes) = Scanned::new(text, &whole).bytes_of(lines);
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    let part = text.get(place(bytes.start)..place(bytes.end)).unwrap_or_default();
    let part_scan = scan(part, whole.encoding);
    let hunks = diff::states(None, Some(Scanned::new(part, &part_scan)), ROOM);
    let rows = hunks.hunks.into_iter().flat_map(|hunk| hunk.rows);
    rows.map(|row| line(&diff::DiffRow { side: RowSide::Both, ..row })).collect()
}

/// Makes the story of a call that was refused.
pub(crate) fn failure(failed: &Failure) -> Value {
    let mut left = ROOM;
    let mut problems = Vec::new();
    for found in &failed.problems {
        let found = problem(found);
        let Some(rest) = left.checked_sub(found.to_string().len()) else { break };
        left = rest;
        problems.push(found);
    }
    let mut told = Map::new();
    if let Some(first) = failed.problems.first() {
        told.insert("code".to_owned(), json!(first.code.as_str()));
        told.insert("reason".to_owned(), json!(cut(&first.reason)));
    }
    told.insert("problems".to_owned(), json!(problems));
    let mut story = Page::new().story("failure");
    story.insert("failure".to_owned(), Value::Object(told));
    Value::Object(story)
}

fn problem(found: &Problem) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("code", json!(found.code.as_str()));
    put("reason", json!(cut(&format!("{}{}", found.part, found.reason))));
    if let Some(path) = &found.file_path {
        put("path", json!(path));
    }
    let text = |excerpt: &Excerpt| json!(cut(&excerpt.text));
    let shown = found.texts().next();
    let lines = found.lines.or_else(|| shown.map(|excerpt| excerpt.of));
    if let Some(lines) = lines {
        put("start", json!(lines.start().get()));
        put("end", json!(lines.end()));
    }
    if let Some(asked) = &found.asked {
        put("asked", json!(cut(asked)));
    }
    if let Some(excerpt) = shown {
        put("actual", text(excerpt));
    }
    if !found.hint.is_empty() {
        put("hint", json!(cut(&found.hint)));
    }
    if let Some(later) = found.conflict.as_ref().and_then(|conflict| conflict.later.as_ref()) {
        put("edit", json!(later.edit_id));
    }
    if let Some(conflict) = found.conflict.as_ref().filter(|conflict| !conflict.together.is_empty()) {
        put("together", json!(conflict.together));
    }
    Value::Object(out)
}

/// Returns the beginning of a text, at most `LONGEST_TEXT` bytes.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let end = (0..=LONGEST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Describes an edit without its files.
pub(crate) fn head(entry: &Entry, can_undo: bool) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("id", json!(entry.id.to_string()));
    put("time", json!(time(entry.time)));
    put("tool", json!(entry.tool));
    if let Some(client) = &entry.client {
        put("client", json!(client));
    }
    if let Some(id) = &entry.undoes {
        put("undoes", json!(id.to_string()));
    }
    if entry.is_redo {
        put("isRedo", json!(true));
    }
    if let Some(id) = &entry.undone_by {
        put("undoneBy", json!(id.to_string()));
    }
    put("canUndo", json!(can_undo && entry.is_undoable()));
    out
}

/// The maximum number of files of an edit that a list names.
const FILES_IN_LIST: usize = 20;

/// Describes an edit in a list: the edit, and its files without the changes in them.
pub(crate) fn row(entry: &Entry, can_undo: bool) -> Value {
    let mut out = head(entry, can_undo);
    let rows = rows(entry);
    let counts = sum(rows.iter().map(|row| Counts::of(&row.file.diff)));
    if counts.is_whole {
        out.insert("added".to_owned(), json!(counts.added));
        out.insert("removed".to_owned(), json!(counts.removed));
    }
    if let Some(line) = rows.first().and_then(changed_line) {
        out.insert("line".to_owned(), json!(line));
    }
    let files = rows.iter().take(FILES_IN_LIST).map(|row| Value::Object(head_of(row)));
    out.insert("files".to_owned(), files.collect());
    let more = rows.len().saturating_sub(FILES_IN_LIST);
    if more > 0 {
        out.insert("moreFiles".to_owned(), json!(more));
    }
    Value::Object(out)
}

/// Describes a file of an edit: its path, and the kind of change.
fn head_of(HistoryRow { from, file }: &HistoryRow<'_>) -> Map<String, Value> {
    let mut out = path_of(file);
    let change = if from.is_some() { "moved" } else { kind(file.kind) };
    out.insert("change".to_owned(), json!(change));
    if let Some(from) = from {
        out.insert("movedFrom".to_owned(), json!(shown(&from.path)));
    }
    out
}

/// Returns the path of a file, the root in which it was, and the path relative to that root.
pub(crate) fn path_of(file: &EntryFile) -> Map<String, Value> {
    let mut out = Map::from_iter([("path".to_owned(), json!(shown(&file.path)))]);
    if let Some(root) = file.root_directory() {
        out.insert("root".to_owned(), json!(shown(&root)));
        out.insert("relative".to_owned(), json!(shown(&file.relative)));
    }
    out
}

/// The files of a story, as many as there is room for.
struct Page {
    files: Vec<Value>,
    left: usize,
    more: usize,
}

impl Page {
    fn new() -> Self {
        Self { files: Vec::new(), left: ROOM, more: 0 }
    }

    fn story(self, kind: &str) -> Map<String, Value> {
        let mut out = Map::from_iter([
            ("version".to_owned(), json!(1)),
            ("kind".to_owned(), json!(kind)),
            ("files".to_owned(), Value::Array(self.files)),
        ]);
        if self.more > 0 {
            out.insert("moreFiles".to_owned(), json!(self.more));
        }
        out
    }

    fn edit(self, entry: &Entry, can_undo: bool) -> Value {
        let mut story = self.story("edit");
        story.insert("edit".to_owned(), Value::Object(head(entry, can_undo)));
        Value::Object(story)
    }

    /// Adds a file whose states were compared.
    fn compared(&mut self, mut head: Map<String, Value>, comparison: &Comparison) {
        for (key, scan) in [("before", &comparison.before), ("after", &comparison.after)] {
            if let Some(scan) = scan {
                head.insert(key.to_owned(), facts(scan));
            }
        }
        self.file(head, &comparison.hunks);
    }

    /// Adds a file with the diff that the history keeps.
    fn kept(&mut self, mut head: Map<String, Value>, file: &EntryFile) {
        for (key, digest) in [("before", &file.before), ("after", &file.after)] {
            if let Some(digest) = digest {
                let told = json!({"hash": digest.to_string(), "encoding": file.encoding.name()});
                head.insert(key.to_owned(), told);
            }
        }
        let mut hunks = diff::read(&file.diff);
        // The history has no diff of displaced bytes.
        hunks.is_cut |= file.kind == ChangeKind::Displaced;
        self.file(head, &hunks);
    }

    /// Adds a file, and as many of its lines as there is room for.
    fn file(&mut self, mut head: Map<String, Value>, hunks: &Hunks) {
        if let Some(counts) = hunks.counts {
            head.insert("added".to_owned(), json!(counts.added));
            head.insert("removed".to_owned(), json!(counts.removed));
        }
        let weight = Value::Object(head.clone()).to_string().len() + 40;
        let Some(left) = self.left.checked_sub(weight).filter(|_| self.more == 0) else {
            self.more += 1;
            return;
        };
        self.left = left;
        let mut is_full = false;
        let mut told = Vec::new();
        for hunk in &hunks.hunks {
            let mut lines = Vec::new();
            for row in &hunk.rows {
                let line = line(row);
                let Some(left) = self.left.checked_sub(line.to_string().len() + 1) else {
                    is_full = true;
                    break;
                };
                self.left = left;
                lines.push(line);
            }
            told.push(json!({"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": lines}));
            self.left = self.left.saturating_sub(40);
            if is_full {
                break;
            }
        }
        head.insert("hunks".to_owned(), Value::Array(told));
        if is_full || hunks.is_cut {
            head.insert("cut".to_owned(), json!(true));
        }
        self.files.push(Value::Object(head));
    }
}

fn line(row: &diff::DiffRow) -> Value {
    let kind = match row.side {
        RowSide::Both => " ",
        RowSide::Old => "-",
        RowSide::New => "+",
    };
    let mut out = Map::from_iter([("kind".to_owned(), json!(kind)), ("text".to_owned(), json!(row.text))]);
    let end = match row.end {
        RowEnd::None => Some("none"),
        RowEnd::With(ending) => match ending.as_str() {
            "\r\n" => Some("crlf"),
            "\r" => Some("cr"),
            _ => None,
        },
        RowEnd::Some => None,
    };
    if let Some(end) = end {
        out.insert("end".to_owned(), json!(end));
    }
    if row.is_cut {
        out.insert("cut".to_owned(), json!(true));
    }
    Value::Object(out)
}

fn scan(bytes: &[u8], encoding: Encoding) -> Scan {
    let mut scanner = Scanner::new(Some(encoding));
    scanner.feed(bytes);
    scanner.finish()
}

fn facts(scan: &Scan) -> Value {
    let mut out = json!({
        "hash": scan.digest.to_string(),
        "lines": scan.lines.count(),
        "encoding": scan.encoding.name(),
        "bom": scan.bom,
        "lineEnding": scan.lines.census().name(),
        "bytes": scan.size,
    });
    if let (true, Some(out)) = (scan.lines.count() > 0, out.as_object_mut()) {
        out.insert("finalNewline".to_owned(), json!(!scan.lines.is_unterminated()));
    }
    out
}

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::diff::DiffHunk;

    use super::*;

    #[test]
    fn a_story_is_bounded_even_where_its_diff_was_cut_before() {
        let row =
            diff::DiffRow { side: RowSide::New, text: "x".repeat(1000), end: RowEnd::Some, is_cut: false };
        let hunk = DiffHunk { old_start: 1, new_start: 1, rows: vec![row; 1000] };
        for is_cut in [false, true] {
            let mut page = Page::new();
            page.file(Map::new(), &Hunks { hunks: vec![hunk.clone()], is_cut, counts: None });
            let told = Value::Object(page.story("edit"));
            assert!(told.to_string().len() <= ROOM + 1000, "{is_cut}");
            assert_eq!(told["files"][0]["cut"], true);
        }
    }
}
