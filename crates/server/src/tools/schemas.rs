//! Returns the schemas of structured content, and of the arguments of tools for views. `schemas.json` has one
//! for each tool. A key that begins with `+` is replaced by the members of the parts that its value names.
//!
//! An error has no structured content. But some clients check the error's text against the schema and, if it
//! does not fit, show the model their own message instead. So each schema also admits an error. Other clients
//! reject combinators and references, so a schema has the properties of both the content and the error, and
//! requires only those that both have.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).unwrap_or_default());

/// Returns the schema of a tool's structured content. For a tool for views, returns the schema of its
/// arguments.
pub(super) fn of(tool: &str) -> Map<String, Value> {
    let part = |name| SCHEMAS.get(name).and_then(Value::as_object);
    part(tool).zip(part("parts")).map(|(schema, parts)| whole(schema, parts)).unwrap_or_default()
}

/// Returns an object with the names of parts replaced by the parts, at every depth.
fn whole(object: &Map<String, Value>, parts: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in object {
        match value {
            Value::Array(names) if key.starts_with('+') => {
                let members = names.iter().filter_map(|name| parts.get(name.as_str()?)?.as_object());
                out.extend(members.flat_map(|part| whole(part, parts)));
            }
            Value::Object(object) => drop(out.insert(key.clone(), whole(object, parts).into())),
            value => drop(out.insert(key.clone(), value.clone())),
        }
    }
    out
}
