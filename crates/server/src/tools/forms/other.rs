//! Reads, creations, appends, insertions, deletions, moves and removals in another form.

use mcp_text_editor_store::Purpose;
use serde_json::{Map, Value, json};

use super::given::{Given, Parts, unspelled};
use super::look::Look;
use super::ranges::{self, Range};
use super::reader::Reader;
use crate::arguments::{Object, ValueKind, spelled_integer};
use crate::limits::Limit;
use crate::render::part::Part;
use crate::tool_id::ToolId;
use crate::tools::all::of;
use crate::tools::{delete, get, insert};

/// Rewrites a call whose arguments are taken as they are.
pub(super) fn plain(
    tool: ToolId,
    values: &Map<String, Value>,
    reader: &mut Reader<'_>,
) -> Option<(ToolId, Part)> {
    let own = of(tool)?.arguments;
    let mut given = Given::of(values, own, &mut reader.odd)?;
    if tool == ToolId::Create {
        reader.purpose = Purpose::Creating;
    }
    let parts = parts(own, &mut given, reader);
    given.leave_rest(&mut reader.odd);
    Some((tool, Part::Object(parts)))
}

/// Takes what an object declares, in its order, with a blank for what is needed and not given.
fn parts(object: Object, given: &mut Given<'_>, reader: &mut Reader<'_>) -> Parts {
    let mut parts = Parts::new();
    for own in object.own {
        let part = match (own.kind, given.take(own.name).cloned()) {
            (ValueKind::Path, value) => reader.path(value),
            (ValueKind::NewPath, Some(value)) => reader.new_path(Some(value)),
            (ValueKind::Tag, None) => file_hash(given, reader, &parts),
            (_, Some(value)) => Part::Value(value),
            (_, None) if own.is_needed => Part::blank(own.blank()),
            _ => continue,
        };
        parts.push((own.name, part));
    }
    parts
}

/// Tells whether a call is one that adds its text to the end of a file.
pub(super) fn appends(values: &Map<String, Value>) -> bool {
    values.get("mode").and_then(Value::as_str).is_some_and(|mode| matches!(mode, "append" | "a"))
}

/// Rewrites an insertion.
pub(super) fn insert(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, insert::TOOL.arguments, &mut reader.odd)?;
    // Cline's editor names the line before which the text comes; all others name the line after which it
    // comes.
    let is_before = given.name_of("after") == "insert_line" && given.name_of("contents") == "new_text";
    let mut parts = parts(insert::TOOL.arguments, &mut given, reader);
    let mut places = parts.iter_mut().filter(|(name, _)| matches!(*name, "after" | "before")).peekable();
    if places.peek().is_none() {
        drop(places);
        let after = ("after", Part::Blank("the line after which they come", json!(0)));
        parts.insert(3, after);
    } else if is_before {
        places.for_each(|(name, _)| *name = "before");
    }
    given.leave_rest(&mut reader.odd);
    Some((ToolId::Insert, Part::Object(parts)))
}

/// Rewrites a deletion.
pub(super) fn delete(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, delete::TOOL.arguments, &mut reader.odd)?;
    let mut parts = vec![path(&mut given, reader)];
    let hash = given.take("file_hash").cloned().map(Part::Value);
    parts.push(("file_hash", hash.unwrap_or_else(|| file_hash(&given, reader, &parts))));
    let mut lines = ranges::of(&mut given, delete::RANGE, reader)?;
    if lines.is_empty() {
        lines.push(vec![
            ("start", Part::Blank("the first line", json!(1))),
            ("end", Part::Blank("the last line", json!(1))),
        ]);
    }
    let path = parts.first().map_or_else(|| Part::blank(""), |(_, path)| path.clone());
    let encoding = given.text_of("encoding");
    ranges::guard(&path, encoding, lines.iter_mut().collect(), reader);
    parts.push(("ranges", Part::List(lines.into_iter().map(Part::Object).collect())));
    parts.extend(given.rest(&["encoding", "dry_run"]));
    given.leave_rest(&mut reader.odd);
    Some((ToolId::Delete, Part::Object(parts)))
}

/// Rewrites a read.
pub(super) fn read(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, get::TOOL.arguments, &mut reader.odd)?;
    if values.contains_key("offset") && given.has("line_start") {
        reader.odd.note("`offset` is taken for a line, counted from 1".to_owned());
    }
    let mut parts = Parts::new();
    if let Some(listed) = given.take_list("files", reader.limits()) {
        let files = listed.as_array().filter(|items| reader.admits(Limit::Files, items.len()))?;
        let files = files.iter().map(|item| read_file(item, reader));
        parts.push(("files", Part::List(files.collect::<Option<_>>()?)));
    } else {
        let path = path(&mut given, reader);
        if reader.offers(ToolId::List)
            && matches!(reader.look(&path.1, given.text_of("encoding")), Look::Directory)
        {
            reader.odd.say("a directory");
            return Some((
                ToolId::List,
                Part::Object(vec![("path", path.1), ("depth", Part::Value(json!(2)))]),
            ));
        }
        let is_listed = given.has("ranges");
        let ranges = read_lines(&mut given, reader)?;
        if is_listed && !is_plain(&ranges) {
            let ranges = ranges.into_iter().map(Part::Object).collect();
            let file = Part::Object(vec![path, ("ranges", Part::List(ranges))]);
            parts.push(("files", Part::List(vec![file])));
        } else {
            let named = |(name, part)| (if name == "start" { "line_start" } else { "line_end" }, part);
            parts.push(path);
            parts.extend(ranges.into_iter().flatten().map(named));
        }
    }
    parts.extend(given.rest(&["encoding", "line_numbers"]));
    given.leave_rest(&mut reader.odd);
    Some((ToolId::Get, Part::Object(parts)))
}

/// Tells whether the short form can name these ranges.
fn is_plain(ranges: &[Range]) -> bool {
    matches!(ranges, [range] if range.iter().all(|(name, _)| matches!(*name, "start" | "end")))
}

fn read_file(item: &Value, reader: &mut Reader<'_>) -> Option<Part> {
    let unspelled = unspelled(item, reader.limits());
    match unspelled.as_ref().unwrap_or(item) {
        Value::String(path) => {
            reader.odd.say("a file as a text");
            Some(Part::Object(vec![("file_path", reader.path(Some(json!(path))))]))
        }
        Value::Object(values) => {
            let mut given = Given::of(values, get::FILE, &mut reader.odd)?;
            let mut parts = vec![path(&mut given, reader)];
            let is_listed = given.has("ranges");
            let ranges = read_lines(&mut given, reader)?;
            if is_listed || !ranges.is_empty() {
                parts.push(("ranges", Part::List(ranges.into_iter().map(Part::Object).collect())));
            }
            parts.extend(given.rest(&["encoding"]));
            given.leave_rest(&mut reader.odd);
            Some(Part::Object(parts))
        }
        _ => None,
    }
}

/// Reads the lines that a read asks for. Returns `None` for lines in no form that is understood.
fn read_lines(given: &mut Given<'_>, reader: &mut Reader<'_>) -> Option<Vec<Range>> {
    if given.has("ranges") { ranges::of(given, get::RANGE, reader) } else { lines(given) }
}

/// Reads the lines of a read that are given by a start, and by an end or a number of lines. Returns `None` if
/// a number is malformed.
fn lines(given: &mut Given<'_>) -> Option<Vec<Range>> {
    let start = given.take("line_start").cloned();
    let end = given.take("line_end").cloned();
    let count = |value: Option<&Value>| match value {
        Some(value) => spelled_integer(value).filter(|count| *count > 0).map(Some),
        None => Some(None),
    };
    let limit = count(given.take("limit"))?;
    let head = count(given.take("head"))?;
    let tail = count(given.take("tail"))?;
    let first = start.as_ref().map_or(Some(1), spelled_integer)?;
    let last = match limit {
        Some(limit) if first >= 0 => Some(first.max(1).saturating_add(limit - 1)),
        Some(limit) if limit < first.saturating_neg() => Some(first.saturating_add(limit - 1)),
        _ => None,
    };
    let (start, end) = match (head, tail) {
        (Some(head), _) => (Some(json!(1)), Some(json!(head))),
        (None, Some(tail)) => (Some(json!(tail.saturating_neg())), None),
        (None, None) => (start, end.or_else(|| last.map(|last| json!(last)))),
    };
    if start.is_none() && end.is_none() {
        return Some(Vec::new());
    }
    let end = end.map(|end| ("end", Part::Value(end)));
    Some(vec![[("start", Part::Value(start.unwrap_or(json!(1))))].into_iter().chain(end).collect()])
}

fn path(given: &mut Given<'_>, reader: &mut Reader<'_>) -> (&'static str, Part) {
    let path = given.take("file_path").cloned();
    ("file_path", reader.path(path))
}

/// Returns the digest that a file has now, or a blank if it cannot be told.
fn file_hash(given: &Given<'_>, reader: &mut Reader<'_>, parts: &Parts) -> Part {
    let encoding = given.text_of("encoding");
    let hash = parts.first().and_then(|(_, path)| reader.file_hash(path, encoding));
    let blank = || Part::blank_hash("the file_hash that a read of this file shows");
    hash.map_or_else(blank, Part::Value)
}
