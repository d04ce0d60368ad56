//! Arguments that stand a level too high: a file without `patches`, lines without `ranges`.
//! Models often leave these levels out, and one answer with the right form helps more than a problem for each
//! argument.

use serde_json::{Map, Value, json};

use crate::arguments::{Fields, meant};

/// What the object of a file takes.
const IN_FILE: &[&str] = &["file_path", "patches", "file_hash", "encoding"];
/// What the object of a patch takes.
const IN_PATCH: &[&str] = &["old_string", "new_string", "replace_all", "ranges"];
/// What the object of a range takes.
const IN_RANGE: &[&str] = &["start", "end", "range_hash"];

/// A longer text is not repeated in the form.
const MAX_TEXT: usize = 200;
/// A longer form is told without the call's own values.
const MAX_FORM: usize = 800;
/// In an object of more keys than this nothing is taken for misplaced.
const MAX_KEYS: usize = 10;
/// No more of a name than this is repeated.
const MAX_NAME: usize = 24;

/// Notes a file of a patch call whose replacement stands where `patches` should. Returns whether it is one.
pub(super) fn patch_in_a_file(fields: &mut Fields<'_>) -> bool {
    if fields.has_items("patches") || !names_one_of(fields, &[IN_PATCH, IN_RANGE].concat()) {
        return false;
    }
    let given = fields.take_all();
    note_form(fields, "patches", &given, &file(&given), &generic_file());
    true
}

/// Notes a deletion whose lines stand where `ranges` should. Returns whether it is one.
pub(super) fn range_at_the_top(fields: &mut Fields<'_>) -> bool {
    if fields.has_items("ranges") || !names_one_of(fields, IN_RANGE) {
        return false;
    }
    let given = fields.take_all();
    let mut form = Map::new();
    put(&mut form, "file_path", find(&given, "file_path", IN_FILE), || json!("/absolute/path"));
    put(&mut form, "file_hash", find(&given, "file_hash", IN_FILE), || json!("…"));
    let mut range = range(&given).unwrap_or_default();
    range.entry("range_hash").or_insert_with(|| json!("…"));
    form.insert("ranges".to_owned(), json!([range]));
    let generic = json!({"file_path": "/absolute/path", "file_hash": "…", "ranges": [{"start": 1, "end": 2, "range_hash": "…"}]});
    note_form(fields, "ranges", &given, &Value::Object(form), &generic);
    true
}

fn names_one_of(fields: &Fields<'_>, known: &[&'static str]) -> bool {
    fields.names().nth(MAX_KEYS).is_none() && fields.names().any(|name| own_name(name, known).is_some())
}

/// Returns what an argument is called here.
fn own_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().find(|own| **own == name).copied().or_else(|| meant(name, known))
}

fn note_form(fields: &Fields<'_>, missing: &str, given: &Map<String, Value>, form: &Value, generic: &Value) {
    let names: Vec<String> = given
        .keys()
        .filter(|name| own_name(name, &["dry_run"]).is_none())
        .map(|name| format!("`{}`", name.chars().take(MAX_NAME).collect::<String>()))
        .collect();
    let whose =
        if fields.place() == "the call" { String::new() } else { format!(" of `{}`", fields.place()) };
    let form = Some(form.to_string()).filter(|form| form.len() <= MAX_FORM);
    let form = form.unwrap_or_else(|| generic.to_string());
    fields.note_invalid(
        format!("`{missing}`{whose} is missing, and {} cannot stand in its place", names.join(", ")),
        format!("write {form}"),
    );
}

fn find<'a>(given: &'a Map<String, Value>, name: &str, known: &[&str]) -> Option<&'a Value> {
    let exact = given.get(name);
    exact.or_else(|| given.iter().find(|(key, _)| own_name(key, known) == Some(name)).map(|(_, value)| value))
}

fn put(form: &mut Map<String, Value>, name: &str, value: Option<&Value>, otherwise: impl FnOnce() -> Value) {
    form.insert(name.to_owned(), value.map_or_else(otherwise, short));
}

/// Returns a value with long texts left out.
fn short(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().nth(MAX_TEXT).is_some() => json!("…"),
        Value::Array(items) => items.iter().take(MAX_KEYS).map(short).collect(),
        other => other.clone(),
    }
}

fn generic_file() -> Value {
    json!({"file_path": "/absolute/path", "patches": [{"old_string": "…", "new_string": "…"}]})
}

/// Makes the object of a file from what was given in its place.
fn file(given: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    put(&mut out, "file_path", find(given, "file_path", IN_FILE), || json!("/absolute/path"));
    for name in ["file_hash", "encoding"] {
        if let Some(value) = given.get(name) {
            out.insert(name.to_owned(), short(value));
        }
    }
    let listed = find(given, "patches", IN_FILE).and_then(Value::as_array);
    let patches: Vec<Value> = match listed {
        Some(patches) => patches.iter().take(MAX_KEYS).filter_map(Value::as_object).map(patch).collect(),
        None => vec![patch(given)],
    };
    out.insert("patches".to_owned(), Value::Array(patches));
    Value::Object(out)
}

fn patch(given: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    let ranges = match find(given, "ranges", IN_PATCH).filter(|ranges| ranges.is_array()) {
        Some(ranges) => Some(short(ranges)),
        None => range(given).map(|range| json!([range])),
    };
    match find(given, "old_string", IN_PATCH) {
        Some(old) => put(&mut out, "old_string", Some(old), || Value::Null),
        None if ranges.is_none() => put(&mut out, "old_string", None, || json!("…")),
        None => {}
    }
    put(&mut out, "new_string", find(given, "new_string", IN_PATCH), || json!("…"));
    if let Some(ranges) = ranges {
        out.insert("ranges".to_owned(), ranges);
    } else if let Some(all) = find(given, "replace_all", IN_PATCH) {
        out.insert("replace_all".to_owned(), short(all));
    }
    Value::Object(out)
}

/// Returns the range that is given, if there is one.
fn range(given: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for name in IN_RANGE {
        if let Some(value) = find(given, name, IN_RANGE) {
            out.insert((*name).to_owned(), short(value));
        }
    }
    if out.is_empty() {
        return None;
    }
    out.entry("start").or_insert_with(|| json!(1));
    Some(out)
}
