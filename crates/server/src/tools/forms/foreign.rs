//! The forms of tools that wrap their arguments in something, or count in another way. Their arguments are
//! converted into the form that the rest of this module reads.

use serde_json::{Map, Value, json};

use super::given::unspelled;
use super::reader::Reader;
use crate::arguments::spelled_integer;

/// Characters with a special meaning in a regular expression.
const OF_EXPRESSIONS: &[char] = &['\\', '.', '^', '$', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|'];

/// Returns the arguments in that form; `None` if they need no conversion.
pub(super) fn unwrapped(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<Map<String, Value>> {
    roo(values, reader).or_else(|| serena(values, reader))
}

/// Reads Roo's `args`, which holds one `file` or more, as JSON or in tags; or such a `file` without `args`.
fn roo(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<Map<String, Value>> {
    let (name, wrapped) = match values.get("args") {
        Some(args) => {
            let spelled = unspelled(args, reader.limits());
            let args = spelled.as_ref().unwrap_or(args);
            let files = match args {
                Value::String(text) => Value::from(tagged(text, "file").map(of_tags).collect::<Vec<_>>()),
                other => other.get("file")?.clone(),
            };
            ("args", files)
        }
        None => ("file", values.get("file").filter(|file| file.is_array() || file.is_object())?.clone()),
    };
    let files = match wrapped {
        Value::Array(files) => files,
        one => vec![one],
    };
    if files.is_empty() {
        return None;
    }
    reader.odd.name(name);
    let mut out = values.clone();
    out.shift_remove(name);
    out.insert("files".to_owned(), files.into_iter().map(of_roo).collect());
    Some(out)
}

/// Returns a file of Roo's, with its diffs as one text.
fn of_roo(mut file: Value) -> Value {
    let content = |diff: &Value| diff.get("content").and_then(Value::as_str).map(str::to_owned);
    let text = match file.get("diff") {
        Some(Value::Array(diffs)) => {
            diffs.iter().map(content).collect::<Option<Vec<_>>>().map(|all| all.join("\n"))
        }
        Some(diff) => content(diff),
        None => None,
    };
    if let (Some(text), Some(file)) = (text, file.as_object_mut()) {
        file.insert("diff".to_owned(), json!(text));
    }
    file
}

/// Reads a file that is described in tags.
fn of_tags(text: &str) -> Value {
    let mut file = Map::new();
    for name in ["path", "line_range"] {
        file.extend(tagged(text, name).next().map(|inside| (name.to_owned(), json!(inside.trim()))));
    }
    let diffs: Vec<Value> =
        tagged(text, "content").map(|content| json!({"content": of_cdata(content)})).collect();
    if !diffs.is_empty() {
        file.insert("diff".to_owned(), Value::from(diffs));
    }
    Value::Object(file)
}

/// Returns what stands in each pair of these tags.
fn tagged<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(&opening).skip(1);
    let parts = parts.map(|part| part.split_once(&closing).map_or(part, |(inside, _)| inside));
    parts.collect::<Vec<_>>().into_iter()
}

fn of_cdata(text: &str) -> &str {
    let inside = text.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>"));
    inside.unwrap_or(text).trim_matches('\n')
}

/// Reads a call of Serena's, known by its `relative_path`: lines are counted from 0, and a text may be a
/// regular expression.
fn serena(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<Map<String, Value>> {
    values.get("relative_path")?;
    let mut out = values.clone();
    for name in ["start_line", "end_line"] {
        if let Some(line) = out.get(name).and_then(spelled_integer).filter(|line| *line >= 0) {
            reader
                .odd
                .note(format!("`{name}` is counted from 0 beside `relative_path`, and lines here from 1"));
            out.insert(name.to_owned(), json!(line.saturating_add(1)));
        }
    }
    let is_expression = out.get("mode").is_some_and(|mode| mode == "regex");
    out.shift_remove("mode");
    let text = out.get("needle").and_then(Value::as_str).unwrap_or_default();
    if is_expression && text.contains(OF_EXPRESSIONS) {
        reader.odd.note("`needle` is an expression, and `old_string` the text itself".to_owned());
        reader.odd.name("needle");
        out.shift_remove("needle");
    }
    Some(out)
}
