//! Searches and lists in another form: as other tools and `rg` name their options.

use mcp_text_editor_store::Purpose;
use serde_json::{Map, Value, json};

use super::given::{Given, Parts, unspelled};
use super::reader::Reader;
use crate::arguments::vocabulary::PATTERN;
use crate::limits::{Limit, Limits};
use crate::render::part::Part;
use crate::tool_id::ToolId;
use crate::tools::{list, search};

/// Rewrites a search.
pub(super) fn search(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let values = &with_pattern(values);
    let mut given = Given::of(values, search::TOOL.arguments, &mut reader.odd)?;
    reader.purpose = Purpose::Finding;
    let pattern = given.take("pattern").cloned().map_or_else(|| Part::blank(PATTERN.blank()), Part::Value);
    let mut parts = vec![("pattern", pattern)];
    let is_regex = given.take("is_regex");
    if !given.has("literal") && is_regex.is_some_and(is_false) {
        parts.push(("literal", Part::Value(json!(true))));
    }
    parts.extend(given.rest(&["literal"]));
    if let Some(value) = given.take("paths") {
        let spelled = unspelled(value, reader.limits());
        let paths = match spelled.as_ref().unwrap_or(value) {
            Value::Array(items) if reader.admits(Limit::Files, items.len()) => items.clone(),
            Value::String(path) => {
                reader.odd.say("`paths` as a text");
                vec![json!(path)]
            }
            _ => return None,
        };
        let paths: Vec<Part> = paths.into_iter().filter_map(|path| place(path, reader)).collect();
        if !paths.is_empty() {
            parts.push(("paths", Part::List(paths)));
        }
    }
    parts.extend(glob(&mut given, reader));
    match given.take("case_sensitive") {
        Some(sensitive) if is_false(sensitive) => parts.push(("ignore_case", Part::Value(json!(true)))),
        _ => {}
    }
    let has_case = parts.iter().any(|(name, _)| *name == "ignore_case");
    parts.extend(given.rest(if has_case { &[] } else { &["ignore_case"] }));
    parts.extend(given.rest(&["context", "hashes", "max_results", "offset", "encoding"]));
    given.leave_rest(&mut reader.odd);
    Some((ToolId::Search, Part::Object(parts)))
}

/// Returns the arguments with `query` as `pattern` and `pattern` as `file_pattern`, if both are given.
/// rust-mcp-filesystem has this form; its query is plain text unless the call says otherwise.
fn with_pattern(values: &Map<String, Value>) -> Map<String, Value> {
    let mut out = values.clone();
    if let (Some(query), Some(pattern)) = (values.get("query"), values.get("pattern")) {
        out.shift_remove("query");
        out.insert("pattern".to_owned(), query.clone());
        out.entry("file_pattern").or_insert_with(|| pattern.clone());
        out.entry("is_regex").or_insert(json!(false));
    }
    out
}

/// Rewrites a list.
pub(super) fn list(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, list::TOOL.arguments, &mut reader.odd)?;
    reader.purpose = Purpose::Finding;
    let mut parts = Parts::new();
    if let Some(part) = given.take("path").cloned().and_then(|path| place(path, reader)) {
        parts.push(("path", part));
    }
    parts.extend(glob(&mut given, reader));
    let recursive = given.take("recursive");
    if recursive.is_some_and(is_false) && !given.has("depth") {
        parts.push(("depth", Part::Value(json!(1))));
    }
    parts.extend(given.rest(&["depth", "include_ignored", "line_counts", "max_results", "offset"]));
    given.leave_rest(&mut reader.odd);
    Some((ToolId::List, Part::Object(parts)))
}

/// Reads a path; one that means the working directory is left out, so that all directories are meant.
fn place(path: Value, reader: &mut Reader<'_>) -> Option<Part> {
    if path.as_str().is_some_and(|path| matches!(path.trim_end_matches('/'), "" | ".")) && path != json!("/")
    {
        return None;
    }
    Some(reader.path(Some(path)))
}

/// Reads the globs of files that are wanted, and of those that are not.
fn glob(given: &mut Given<'_>, reader: &mut Reader<'_>) -> Option<(&'static str, Part)> {
    let wanted = given.take("glob").cloned();
    let Some(unwanted) = given.take("exclude") else { return wanted.map(|glob| ("glob", Part::Value(glob))) };
    let limits = reader.limits();
    let (Some(unwanted), Some(all)) =
        (texts(unwanted, limits), wanted.as_ref().map_or(Some(Vec::new()), |wanted| texts(wanted, limits)))
    else {
        reader.odd.leave_out("exclude");
        return wanted.map(|glob| ("glob", Part::Value(glob)));
    };
    let unwanted = unwanted.into_iter().map(|glob| format!("!{}", glob.trim_start_matches('!')));
    let globs: Vec<String> = all.into_iter().chain(unwanted).collect();
    Some(("glob", Part::Value(json!(globs))))
}

/// Returns the texts of a list, or a single text; `None` for any other value.
fn texts(value: &Value, limits: &Limits) -> Option<Vec<String>> {
    match unspelled(value, limits).as_ref().unwrap_or(value) {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn is_false(value: &Value) -> bool {
    *value == json!(false) || value.as_str() == Some("false")
}
