//! Changes JSON by jsonc-parser's tree: comments, order and all other values stay, and only the blanks and
//! line ends of the objects around a change can differ.

use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};

use super::config_error::{ConfigError, bound, line_and_column};

/// The options accept what the clients' own parsers accept: comments and trailing commas, but not the rest of
/// JSON5.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The maximum number of members of an object that gets another one. The time to give each its own line grows
/// with the square of their number.
const MOST_MEMBERS: usize = 2_000;

/// The maximum number of lines of a text that is changed. The tree has a node of a hundred bytes for each.
const MOST_LINES: usize = 2_000_000;

/// Parses a text. An empty text is an empty object.
pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    bound(text, b",[{")?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    let parsed = parsed.map_err(|error| unreadable(text, &error))?;
    Ok(parsed.value.map_or_else(|| Value::Object(Map::new()), Value::from))
}

/// Sets the member at `path`. A `null` in place of an object above it counts as missing.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let Some((key, above)) = path.split_last() else { return Err(ConfigError::NotSafe) };
    let other_kind = || ConfigError::OtherKind(above.join("."));
    let mut object = root.object_value_or_create().ok_or_else(other_kind)?;
    for key in above {
        object = match member(&object, key) {
            Some(inner) => inner.as_object().ok_or_else(other_kind)?,
            None => extendable(&object)?.object_value_or_set(key),
        };
    }
    match object.get(key) {
        Some(member) => member.set_value(input(value)),
        None => drop(extendable(&object)?.append(key, input(value))),
    }
    Ok(root.to_string())
}

/// Removes the member at `path`, and then the objects above it that have become empty.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, ConfigError> {
    let Some((key, above)) = path.split_last() else { return Ok(text.to_owned()) };
    remove(text, above, |found| {
        let object = found.as_object().ok_or_else(|| ConfigError::OtherKind(path.join(".")))?;
        Ok(object.get(key).and_then(|member| member.value()))
    })
}

/// Adds an item to the array at `path`. Makes the array if it is missing.
pub(super) fn push(text: &str, path: &[&str], item: &Value) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let Some(found) = find(&root, path)? else { return set(text, path, &json!([item])) };
    let array = found.as_array().ok_or_else(|| ConfigError::OtherKind(path.join(".")))?;
    array.append(input(item));
    Ok(root.to_string())
}

/// Removes an item from the array at `path`, and then the array if it has become empty.
pub(super) fn pull(text: &str, path: &[&str], item: &Value) -> Result<String, ConfigError> {
    remove(text, path, |found| {
        let array = found.as_array().ok_or_else(|| ConfigError::OtherKind(path.join(".")))?;
        Ok(array.elements().into_iter().find(|other| other.to_serde_value().as_ref() == Some(item)))
    })
}

/// Removes the node that `choose` returns for the value at `path`, and then the objects and arrays above it
/// that have become empty. Brackets that still contain a comment stay.
fn remove(
    text: &str,
    path: &[&str],
    choose: impl Fn(CstNode) -> Result<Option<CstNode>, ConfigError>,
) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let mut next = find(&root, path)?.map(choose).transpose()?.flatten();
    while let Some(node) = next {
        let member = node.parent().filter(CstContainerNode::is_object_prop);
        let child = member.map_or(node, CstNode::Container);
        let holder = child.parent();
        child.remove();
        let is_bare = |holder: &CstContainerNode| {
            holder.parent().is_some_and(|parent| !parent.is_root())
                && holder.children().iter().all(CstNode::is_token)
        };
        next = holder.filter(is_bare).map(CstNode::Container);
    }
    Ok(root.to_string())
}

fn tree(text: &str) -> Result<CstRootNode, ConfigError> {
    bound(text, b",[{")?;
    if text.bytes().filter(|byte| *byte == b'\n').count() > MOST_LINES {
        return Err(ConfigError::NotSafe);
    }
    CstRootNode::parse(text, &OPTIONS).map_err(|error| unreadable(text, &error))
}

fn extendable(object: &CstObject) -> Result<&CstObject, ConfigError> {
    if object.properties().len() > MOST_MEMBERS { Err(ConfigError::NotSafe) } else { Ok(object) }
}

fn unreadable(text: &str, error: &ParseError) -> ConfigError {
    let (line, column) = line_and_column(text, error.range().start);
    ConfigError::Unreadable { line, column, why: error.kind().to_string() }
}

/// Returns the value at a path; `None` if it, or an object above it, is missing or `null`. A value above it
/// that is not an object is an error.
fn find(root: &CstRootNode, path: &[&str]) -> Result<Option<CstNode>, ConfigError> {
    path.iter().try_fold(root.value(), |found, key| {
        let Some(found) = found else { return Ok(None) };
        let object = found.as_object().ok_or_else(|| ConfigError::OtherKind(path.join(".")))?;
        Ok(member(&object, key))
    })
}

/// Returns a member of an object; `None` if it is missing or `null`.
fn member(object: &CstObject, key: &str) -> Option<CstNode> {
    object.get(key)?.value().filter(|value| value.as_null_keyword().is_none())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
