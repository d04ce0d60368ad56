//! Reads values of arguments in the forms of JSON that clients send.

use serde_json::Value;

use super::vocabulary::ALL;

/// The maximum number of characters of a key or value that an error repeats.
pub(super) const MAX_SHOWN: usize = 60;

/// Tells whether a value counts as absent: null, and `""` for an argument that is never empty. Clients send
/// these for a key that they cannot leave out.
pub(super) fn is_absent(name: &str, value: &Value) -> bool {
    value.is_null()
        || value.as_str() == Some("") && ALL.iter().any(|own| own.name == name && own.is_never_empty())
}

/// Tells whether a value is an empty list, or a string such as `"[]"`.
pub(super) fn is_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::String(text) => {
            let inside = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            inside.is_some_and(|inside| inside.trim().is_empty())
        }
        _ => false,
    }
}

/// Returns a number as an integer: `5`, `5.0` and `5e0` alike.
pub(super) fn whole(number: &serde_json::Number) -> Option<i64> {
    if let Some(number) = number.as_i64() {
        return Some(number);
    }
    if number.is_u64() {
        return Some(i64::MAX);
    }
    let float = number.as_f64().filter(|float| float.is_finite() && float.fract() == 0.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    Some(float as i64)
}

pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Number(number) => format!("the number {}", shown(&number.to_string())),
        Value::String(text) => format!("the string \"{}\"", shown(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

pub(super) fn shown(text: &str) -> String {
    let shown = beginning(text, MAX_SHOWN);
    if shown.len() < text.len() { format!("{shown}…") } else { text.to_owned() }
}

/// Returns the beginning of a text, at most so many characters.
pub(crate) fn beginning(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// Returns the number of the line that has the byte at `at`.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
