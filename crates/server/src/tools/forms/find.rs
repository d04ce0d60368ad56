//! Searches and lists in another form: as other tools and `rg` name their options.

use mcp_text_editor_store::Purpose;
use serde_json::{Map, Value, json};

use super::given::{Given, unspelled};
use super::levels::{LIST_CALL, SEARCH_CALL};
use super::part::Part;
use super::reader::Reader;
use crate::limits::Limit;
use crate::tool_id::ToolId;

type Parts = Vec<(&'static str, Part)>;

/// Writes a search anew.
pub(super) fn search(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, &SEARCH_CALL, &mut reader.odd)?;
    reader.purpose = Purpose::Finding;
    let pattern = given.take("pattern").cloned().map_or_else(|| Part::blank("what to find"), Part::Value);
    let mut parts = vec![("pattern", pattern)];
    parts.extend(rest(&mut given, &["literal"]));
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
    parts.extend(rest(&mut given, if has_case { &[] } else { &["ignore_case"] }));
    parts.extend(rest(&mut given, &["context", "hashes", "max_results", "offset", "encoding"]));
    given.leave_rest(&mut reader.odd);
    Some((ToolId::Search, Part::Object(parts)))
}

/// Writes a list anew.
pub(super) fn list(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, &LIST_CALL, &mut reader.odd)?;
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
    parts.extend(rest(&mut given, &["depth", "include_ignored", "line_counts", "max_results", "offset"]));
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

/// Reads which files are wanted, or else which are not.
fn glob(given: &mut Given<'_>, reader: &mut Reader<'_>) -> Option<(&'static str, Part)> {
    let wanted = given.take("glob").cloned();
    let unwanted = given.take("exclude");
    let part = match (wanted, unwanted) {
        (None, Some(Value::String(glob))) => Some(json!(format!("!{glob}"))),
        (wanted, Some(_)) => {
            reader.odd.leave_out("exclude");
            wanted
        }
        (wanted, None) => wanted,
    };
    part.map(|glob| ("glob", Part::Value(glob)))
}

fn is_false(value: &Value) -> bool {
    *value == json!(false) || value.as_str() == Some("false")
}

fn rest(given: &mut Given<'_>, names: &[&'static str]) -> Parts {
    names.iter().filter_map(|name| Some((*name, Part::Value(given.take(name)?.clone())))).collect()
}
