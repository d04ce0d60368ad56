//! Changes JSON with comments by splices: all other bytes stay, with their order and comments.
//!
//! Members of objects and items of arrays are added and removed in the same way: as children of a pair of
//! brackets. A new child gets its own line if the first child has its own line.

use std::ops::Range;

use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged;
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

/// Parses a text. An empty text is an empty object.
pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    Ok(parse(text)?.map_or_else(|| Value::Object(Map::new()), Value::from))
}

/// Sets the member at `path`. A `null` in place of an object above it counts as missing.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, ConfigError> {
    let Some(root) = parse(text)? else {
        let separated = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return set(&format!("{text}{separated}{{}}\n"), path, value);
    };
    let unit = unit(text, &root);
    for depth in (0..path.len()).rev() {
        let (above, below) = path.split_at(depth);
        let (Some(holder), Some((key, rest))) = (find(Some(&root), above)?, below.split_first()) else {
            continue;
        };
        // The value inside the missing objects, which are built from the inside out.
        let new = rest.iter().rev().fold(value.clone(), |inner, key| json!({*key: inner}));
        let Some(member) = object(holder, above)?.get(key) else {
            let name = Value::from(*key).to_string();
            return Ok(
                Brackets::of(text, holder).with(&unit, |layout| format!("{name}: {}", shown(&new, layout)))
            );
        };
        let layout = Layout { indent: indent_at(text, member.range.start), unit: &unit, is_inline: false };
        return Ok(spliced(text, vec![(range(&member.value), shown(&new, &layout))]));
    }
    Err(object(&root, path).err().unwrap_or(ConfigError::NotSafe))
}

/// Removes the member at `path`, and then the objects above it that have become empty.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, ConfigError> {
    let Some((key, above)) = path.split_last() else { return Ok(text.to_owned()) };
    without(text, above, |holder| {
        let members = &object(holder, path)?.properties;
        Ok(members.iter().position(|member| member.name.as_str() == *key))
    })
}

/// Adds an item to the array at `path`. Makes the array if it is missing.
pub(super) fn push(text: &str, path: &[&str], item: &Value) -> Result<String, ConfigError> {
    let root = parse(text)?;
    match find(root.as_ref(), path)? {
        Some(found) if index_of(found, path, item)?.is_some() => Ok(text.to_owned()),
        // An item is written on one line, so no unit of indentation is needed.
        Some(found) if found.as_array().is_some_and(|array| !array.elements.is_empty()) => {
            Ok(Brackets::of(text, found).with("", |_| item.to_string()))
        }
        _ => set(text, path, &json!([item])),
    }
}

/// Removes an item from the array at `path`, and then the array if it has become empty.
pub(super) fn pull(text: &str, path: &[&str], item: &Value) -> Result<String, ConfigError> {
    without(text, path, |found| index_of(found, path, item))
}

/// Removes a child of the object or array at `path`, and then the object or array if it has become empty.
fn without(
    text: &str,
    path: &[&str],
    child: impl Fn(&ast::Value<'_>) -> Result<Option<usize>, ConfigError>,
) -> Result<String, ConfigError> {
    let root = parse(text)?;
    let Some(holder) = find(root.as_ref(), path)? else { return Ok(text.to_owned()) };
    let Some(index) = child(holder)? else { return Ok(text.to_owned()) };
    let new = Brackets::of(text, holder).without(index);
    let root = parse(&new)?;
    let left = find(root.as_ref(), path)?.map(range);
    let left = left.and_then(|left| new.get(left.start + 1..left.end - 1)).unwrap_or_default();
    // Brackets that still contain a comment stay.
    if path.is_empty() || !left.trim().is_empty() { Ok(new) } else { unset(&new, path) }
}

/// Returns the index of an item in an array. A value that is not an array is an error.
fn index_of(found: &ast::Value<'_>, path: &[&str], item: &Value) -> Result<Option<usize>, ConfigError> {
    let array = found.as_array().ok_or_else(|| ConfigError::OtherKind(path.join(".")))?;
    Ok(array.elements.iter().position(|other| Value::from(other.clone()) == *item))
}

fn parse(text: &str) -> Result<Option<ast::Value<'_>>, ConfigError> {
    bound(text, b",[{")?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        let (line, column) = line_and_column(text, error.range().start);
        ConfigError::Unreadable { line, column, why: error.kind().to_string() }
    })?;
    Ok(parsed.value)
}

/// Returns the value at a path; `None` if it, or an object above it, is missing or `null`. A value above it
/// that is not an object is an error.
fn find<'a, 'b>(
    root: Option<&'b ast::Value<'a>>,
    path: &[&str],
) -> Result<Option<&'b ast::Value<'a>>, ConfigError> {
    let is_there = |value: &&ast::Value<'_>| !matches!(value, ast::Value::NullKeyword(_));
    let mut found = root;
    for key in path {
        let Some(value) = found.filter(is_there) else { return Ok(None) };
        found = object(value, path)?.get(key).map(|member| &member.value);
    }
    Ok(found.filter(is_there))
}

fn object<'a, 'b>(value: &'b ast::Value<'a>, path: &[&str]) -> Result<&'b Object<'a>, ConfigError> {
    value.as_object().ok_or_else(|| ConfigError::OtherKind(path.join(".")))
}

fn range(part: &impl Ranged) -> Range<usize> {
    part.start()..part.end()
}

/// The layout of a value.
struct Layout<'a> {
    /// The blanks at the beginning of the line on which the value begins.
    indent: &'a str,
    /// The indentation that each further level adds.
    unit: &'a str,
    /// Whether objects in the value are written on one line.
    is_inline: bool,
}

/// Writes a value: an object with one line for each member, an array on one line.
fn shown(value: &Value, layout: &Layout<'_>) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let indent = format!("{}{}", layout.indent, layout.unit);
            let inner = Layout { indent: &indent, ..*layout };
            let members = members
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), shown(value, &inner)));
            if layout.is_inline {
                return format!("{{ {} }}", members.collect::<Vec<_>>().join(", "));
            }
            let members: Vec<String> = members.map(|member| format!("\n{indent}{member}")).collect();
            format!("{{{}\n{}}}", members.join(","), layout.indent)
        }
        Value::Array(items) => {
            let inner = Layout { is_inline: true, ..*layout };
            format!("[{}]", items.iter().map(|item| shown(item, &inner)).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A pair of brackets in a text, and its children.
struct Brackets<'a> {
    text: &'a str,
    /// The bytes from the opening bracket to the end of the closing one.
    range: Range<usize>,
    children: Vec<Range<usize>>,
}

impl<'a> Brackets<'a> {
    fn of(text: &'a str, holder: &ast::Value<'_>) -> Self {
        let children = match holder {
            ast::Value::Object(object) => object.properties.iter().map(range).collect(),
            ast::Value::Array(array) => array.elements.iter().map(range).collect(),
            _ => Vec::new(),
        };
        Self { text, range: range(holder), children }
    }

    /// Returns the text with a further child, after the others.
    fn with(&self, unit: &str, child: impl Fn(&Layout<'_>) -> String) -> String {
        let (text, inside) = (self.text, self.range.start + 1);
        let (Some(first), Some(last)) = (self.children.first(), self.children.last()) else {
            let outer = indent_at(text, self.range.start);
            let indent = format!("{outer}{unit}");
            let new = child(&Layout { indent: &indent, unit, is_inline: false });
            let held = text.get(inside..self.range.end - 1).unwrap_or_default();
            let closing = if held.contains('\n') { String::new() } else { format!("\n{outer}") };
            return spliced(text, vec![(inside..inside, format!("\n{indent}{new}{closing}"))]);
        };
        let is_inline = !text.get(inside..first.start).unwrap_or_default().contains('\n');
        let new = child(&Layout { indent: indent_at(text, first.start), unit, is_inline });
        let comma = comma_after(text, last.end, self.range.end);
        let mut splices = Vec::new();
        if comma.is_none() {
            splices.push((last.end..last.end, ",".to_owned()));
        }
        let behind = comma.map_or(last.end, |comma| comma + 1);
        let trailing = if comma.is_some() { "," } else { "" };
        if is_inline {
            splices.push((behind..behind, format!(" {new}{trailing}")));
        } else {
            let place = rest_of_line(text, behind).unwrap_or(behind);
            splices.push((place..place, format!("\n{}{new}{trailing}", indent_at(text, first.start))));
        }
        spliced(text, splices)
    }

    /// Returns the text without a child, its comma and the comment after it.
    fn without(&self, index: usize) -> String {
        let text = self.text;
        let Some(child) = self.children.get(index) else { return text.to_owned() };
        let before = index.checked_sub(1).and_then(|index| self.children.get(index));
        let comma = comma_after(text, child.end, self.range.end);
        let behind = comma.map_or(child.end, |comma| comma + 1);
        let mut splices = Vec::new();
        // If no comma follows the child, the comma before it is removed.
        if let (Some(before), None) = (before, comma)
            && let Some(comma) = comma_after(text, before.end, child.start)
        {
            splices.push((comma..comma + 1, String::new()));
        }
        let line_start = text.get(..child.start).unwrap_or_default().trim_end_matches([' ', '\t']).len();
        let is_first_on_line = text.get(..line_start).unwrap_or_default().ends_with('\n');
        let end_of_line = rest_of_line(text, behind);
        match (is_first_on_line, end_of_line) {
            (true, Some(end)) => splices.push((line_start - 1..end, String::new())),
            (true, None) => splices.push((line_start - 1..behind, String::new())),
            (false, _) => {
                let is_last = index + 1 == self.children.len();
                let start = match (before, comma) {
                    (Some(before), None) => before.end,
                    // The blanks before the child were added with the child.
                    (Some(_), Some(_)) if is_last => line_start,
                    _ => child.start,
                };
                let next = self.children.get(index + 1).map_or(behind, |next| next.start);
                splices.retain(|(place, _)| place.start < start);
                splices.push((start..next, String::new()));
            }
        }
        let new = spliced(text, splices);
        let taken = text.len() - new.len();
        let inside = self.range.start + 1..self.range.end - 1 - taken;
        let is_blank = new.get(inside.clone()).is_some_and(|held| held.trim().is_empty());
        if self.children.len() == 1 && is_blank { spliced(&new, vec![(inside, String::new())]) } else { new }
    }
}

/// Returns the blanks at the beginning of the line in which an offset lies.
fn indent_at(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let rest = text.get(line..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest.get(..blanks).unwrap_or_default()
}

/// Returns one level of a text's indentation: the blanks before its first member, or else two blanks.
fn unit(text: &str, root: &ast::Value<'_>) -> String {
    let first = root.as_object().and_then(|object| object.properties.first());
    let found = first.map(|member| indent_at(text, member.range.start)).filter(|indent| !indent.is_empty());
    found.unwrap_or("  ").to_owned()
}

/// Returns the offset of a comma between two offsets, if only blanks and comments precede the comma.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let at = behind_comments(text, from, char::is_whitespace);
    (at < to && text.get(at..)?.starts_with(',')).then_some(at)
}

/// Returns the offset at which the line of `from` ends, if only blanks and comments are in between.
fn rest_of_line(text: &str, from: usize) -> Option<usize> {
    let at = behind_comments(text, from, |blank| matches!(blank, ' ' | '\t'));
    let is_end = text.get(at..)?.starts_with('\n') && !text.get(from..at)?.contains('\n');
    is_end.then_some(at)
}

/// Returns the first offset after these blanks and comments. The end of a line is not part of a comment.
fn behind_comments(text: &str, from: usize, is_blank: fn(char) -> bool) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start_matches(is_blank);
        at += rest.len() - trimmed.len();
        let end = match trimmed.get(..2) {
            Some("//") => trimmed.find('\n'),
            Some("/*") => trimmed.get(2..).and_then(|held| held.find("*/")).map(|end| end + 4),
            _ => return at,
        };
        at += end.unwrap_or(trimmed.len());
    }
}

/// Returns the text with each range replaced. The ranges must be in order and must not overlap.
fn spliced(text: &str, splices: Vec<(Range<usize>, String)>) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for (place, instead) in splices {
        new.push_str(text.get(done..place.start).unwrap_or_default());
        new.push_str(&instead);
        done = place.end;
    }
    new.push_str(text.get(done..).unwrap_or_default());
    new
}
