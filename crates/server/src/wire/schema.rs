//! Builders for JSON schemas that every client accepts: one string `type` per property, no combinators, no
//! references, no null types, no number formats, typed `items`. Defaults and bounds are told in the
//! descriptions. Each rule is there because some client refuses the tool, or all tools, without it.
//!
//! No object says `additionalProperties: false`, at any depth: clients that check calls would then refuse an
//! unknown key themselves, and they cannot say which key was meant. The server refuses unknown keys by
//! itself.

use serde_json::{Map, Value, json};

/// The properties of an object, in the order in which clients show them.
pub type Properties = [(&'static str, Value)];

/// Makes the schema of a tool's arguments.
#[must_use]
pub fn arguments(properties: &Properties, required: &[&str]) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    out.insert("properties".to_owned(), Value::Object(properties));
    out.insert("required".to_owned(), json!(required));
    out
}

/// Makes the schema of an object inside a list.
#[must_use]
pub fn object(properties: &Properties, required: &[&str]) -> Value {
    Value::Object(arguments(properties, required))
}

/// Makes the schema of an object with a description of its own.
#[must_use]
pub fn described(description: &str, properties: &Properties, required: &[&str]) -> Value {
    let mut out = arguments(properties, required);
    out.insert("description".to_owned(), json!(description));
    Value::Object(out)
}

/// Makes the schema of a text.
#[must_use]
pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Makes the schema of an integer.
#[must_use]
pub fn integer(description: &str) -> Value {
    json!({"type": "integer", "description": description})
}

/// Makes the schema of a flag.
#[must_use]
pub fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// Makes the schema of a text that is one of these words.
#[must_use]
pub fn word(description: &str, words: &[&str]) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

/// Makes the schema of a list.
#[must_use]
#[expect(
    clippy::needless_pass_by_value,
    reason = "builders nest, and a reference at each level only adds noise"
)]
pub fn list(description: &str, items: Value) -> Value {
    json!({"type": "array", "description": description, "items": items})
}
