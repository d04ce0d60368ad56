//! The story of an edit: what a view shows of it, as data whose fields `view/src/story.ts` names.
//!
//! Nothing is decided here, and nothing is worded but what replies and errors say too. A story is bounded:
//! what does not fit is counted, or marked as cut.

use std::path::Path;

use mcp_text_editor_core::diff::{self, Comparison, Hunks, RowEnd, RowSide};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::scanned::Scanned;
use mcp_text_editor_store::{Became, ChangeKind, Edited, Entry, EntryFile, Outcome, Warning};
use serde_json::{Map, Value, json};

use super::edit::words;
use super::history::{HistoryRow, kind, rows, time};
use super::paths::shown;
use crate::context::SHOWN;
use crate::problem::{Failure, Problem};
use crate::tool_id::ToolId;

/// The key under which a reply to a client that shows views carries the story of its edit.
pub(crate) const KEY: &str = "mcp-text-editor/story";

/// The most bytes of JSON that the files of a story, or the problems of one, have.
const ROOM: usize = SHOWN;
/// The most files of an edit whose states are looked up; of those after them the diff that is kept is told.
const FILES_WITH_STATES: usize = 64;
/// The most lines of a state that is compared: each takes some bytes of memory.
const LINES_OF_STATE: u64 = 1 << 20;
/// The most bytes of a text of a problem.
const LONGEST_TEXT: usize = 16 << 10;

/// A state of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileState {
    /// It is not known.
    Unknown,
    /// There was no such file.
    Absent,
    /// It held these bytes.
    Bytes(Vec<u8>),
}

/// The states of a file before and after an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStates {
    /// Before it.
    pub(crate) before: FileState,
    /// After it.
    pub(crate) after: FileState,
}

impl FileStates {
    /// Two states of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self { before: FileState::Unknown, after: FileState::Unknown };
}

/// Makes the story of a past edit. `states` returns the states of a file by its index in the entry.
pub(crate) fn edit(entry: &Entry, can_undo: bool, states: impl Fn(usize) -> FileStates) -> Value {
    let mut page = Page::new();
    for (number, row) in rows(entry).into_iter().enumerate() {
        let index = entry.files.iter().position(|file| std::ptr::eq(file, row.file));
        let index = index.filter(|_| number < FILES_WITH_STATES && page.more == 0);
        let mut states = index.map_or(FileStates::UNKNOWN, &states);
        if row.from.is_some() && row.file.kind == ChangeKind::Created {
            // It was only moved: the old place held the same bytes.
            states.before = states.after.clone();
        }
        page.file_between(head_of(&row), row.file, &states);
    }
    page.edit(entry, can_undo)
}

/// Makes the story of an edit that a call has just made, and that the history keeps.
pub(crate) fn kept(entry: &Entry, can_undo: bool, done: &Outcome) -> Value {
    let mut page = Page::new();
    // They have the order of the call; those that stayed as they were are not among the rows.
    let changed = done.files.iter().filter(|edited| !edited.warnings.contains(&Warning::Unchanged));
    for (row, edited) in rows(entry).into_iter().zip(changed) {
        let mut head = head_of(&row);
        warn(&mut head, edited);
        match &edited.comparison {
            Some(comparison) => page.compared(head, comparison),
            None => page.file_between(head, row.file, &FileStates::UNKNOWN),
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
            // It only moves.
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

/// Makes the story of two states of a file, whoever changed it between them.
pub(crate) fn difference(path: &Path, encoding: Encoding, states: &FileStates) -> Value {
    let mut page = Page::new();
    let change = match (&states.before, &states.after) {
        (FileState::Absent, FileState::Bytes(_)) => "created",
        (FileState::Bytes(_), FileState::Absent) => "removed",
        _ => "changed",
    };
    let head =
        Map::from_iter([("path".to_owned(), json!(shown(path))), ("change".to_owned(), json!(change))]);
    page.file_of_states(head, &scanned(states, encoding));
    Value::Object(page.story("difference"))
}

/// Compares two states of a file, whole; `None` where one is not known, or where they cannot be compared line
/// by line.
pub(crate) fn hunks(encoding: Encoding, states: &FileStates) -> Option<Hunks> {
    if states.before == FileState::Unknown || states.after == FileState::Unknown {
        return None;
    }
    let scanned = scanned(states, encoding);
    are_comparable(&scanned).then(|| compared(&scanned, usize::MAX))
}

fn compared(scanned: &[Side<'_>; 2], most: usize) -> Hunks {
    let [before, after] =
        scanned.each_ref().map(|side| side.as_ref().map(|(bytes, scan)| Scanned::new(*bytes, scan)));
    diff::states(before, after, most)
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
    let shown = found.actual.as_ref().or(found.place.as_ref()).or_else(|| found.nearest.first());
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
    Value::Object(out)
}

/// Returns as much of a text as a story has room for.
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

/// The most files of an edit that a list names.
const FILES_IN_LIST: usize = 20;

/// Describes an edit in a list: the edit, and its files without what was changed in them.
pub(crate) fn row(entry: &Entry, can_undo: bool) -> Value {
    let mut out = head(entry, can_undo);
    let rows = rows(entry);
    let files = rows.iter().take(FILES_IN_LIST).map(|row| Value::Object(head_of(row)));
    out.insert("files".to_owned(), files.collect());
    let more = rows.len().saturating_sub(FILES_IN_LIST);
    if more > 0 {
        out.insert("moreFiles".to_owned(), json!(more));
    }
    Value::Object(out)
}

/// Describes a file of an edit: where it is, and what became of it.
fn head_of(HistoryRow { from, file }: &HistoryRow<'_>) -> Map<String, Value> {
    let mut out = path_of(file);
    let change = if from.is_some() { "moved" } else { kind(file.kind) };
    out.insert("change".to_owned(), json!(change));
    if let Some(from) = from {
        out.insert("movedFrom".to_owned(), json!(shown(&from.path)));
    }
    out
}

/// Tells where a file is: its path, the root that it was in, and the path from there.
pub(crate) fn path_of(file: &EntryFile) -> Map<String, Value> {
    let mut out = Map::from_iter([("path".to_owned(), json!(shown(&file.path)))]);
    if let Some(root) = file.root_directory() {
        out.insert("root".to_owned(), json!(shown(&root)));
        out.insert("relative".to_owned(), json!(shown(&file.relative)));
    }
    out
}

/// The files of a story, as far as there is room.
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

    /// Adds a file of a past edit: by its states where both are known, else by the diff that is kept.
    fn file_between(&mut self, mut head: Map<String, Value>, file: &EntryFile, states: &FileStates) {
        let encoding = file.encoding;
        let scanned = scanned(states, encoding);
        if states.before != FileState::Unknown
            && states.after != FileState::Unknown
            && are_comparable(&scanned)
        {
            self.file_of_states(head, &scanned);
            return;
        }
        let digests = [("before", &file.before), ("after", &file.after)];
        for ((key, digest), side) in digests.into_iter().zip(&scanned) {
            let told = match (side, digest) {
                (Some((_, scan)), _) => facts(scan),
                (None, Some(digest)) => hash_alone(digest, encoding),
                (None, None) => continue,
            };
            head.insert(key.to_owned(), told);
        }
        let mut hunks = diff::read(&file.diff);
        // The history has no diff of displaced bytes.
        hunks.is_cut |= file.kind == ChangeKind::Displaced;
        self.file(head, &hunks);
    }

    fn file_of_states(&mut self, mut head: Map<String, Value>, scanned: &[Side<'_>; 2]) {
        for (key, side) in ["before", "after"].into_iter().zip(scanned) {
            if let Some((_, scan)) = side {
                head.insert(key.to_owned(), facts(scan));
            }
        }
        let hunks = if are_comparable(scanned) {
            compared(scanned, ROOM)
        } else {
            Hunks { is_cut: true, ..Hunks::default() }
        };
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

/// The bytes of one side of a change and their scan; `None` if they are not known, or there was no file.
type Side<'a> = Option<(&'a [u8], Scan)>;

fn scanned(states: &FileStates, encoding: Encoding) -> [Side<'_>; 2] {
    [&states.before, &states.after].map(|state| match state {
        FileState::Bytes(bytes) => Some((bytes.as_slice(), scan(bytes, encoding))),
        _ => None,
    })
}

/// Tells whether both sides can be compared line by line: they are text, and have no more lines than there is
/// memory for.
fn are_comparable(scanned: &[Side<'_>; 2]) -> bool {
    scanned
        .iter()
        .flatten()
        .all(|(_, scan)| scan.undecodable.is_none() && scan.lines.count() <= LINES_OF_STATE)
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

fn hash_alone(digest: &Digest, encoding: Encoding) -> Value {
    json!({"hash": digest.to_string(), "encoding": encoding.name()})
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
