//! JSON with comments, changed by splices: all other bytes stay, with their order and comments.
//!
//! Members of objects and items of arrays are added and removed in the same way: as children of a pair of
//! brackets. A new child gets a line of its own if the first child has one.

use std::ops::Range;

use jsonc_parser::ast::{self, Array, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::broken::{Broken, bound, line_and_column};

/// The clients' own parsers accept comments and trailing commas, but not the rest of JSON5.
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

/// Parses a text. An empty one is an empty object.
pub(super) fn read(text: &str) -> Result<Value, Broken> {
    Ok(parse(text)?.map_or_else(|| Value::Object(Map::new()), Value::from))
}

/// Sets the member at `path`. A `null` on the way counts as missing.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Broken> {
    let Some(root) = parse(text)? else {
        let separated = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return set(&format!("{text}{separated}{{}}\n"), path, value);
    };
    let unit = unit(text, &root);
    let mut object = object(&root, path)?;
    let mut left = path;
    while let Some((key, rest)) = left.split_first() {
        let Some(member) = object.get(key) else {
            let made = made(rest, value);
            let name = Value::from(*key).to_string();
            return Ok(Brackets::of(text, object, &object.properties)
                .with(&unit, |layout| format!("{name}: {}", shown(&made, layout))));
        };
        if rest.is_empty() || matches!(member.value, ast::Value::NullKeyword(_)) {
            let place = range(&member.value);
            let layout =
                Layout { indent: indent_at(text, member.range.start), unit: &unit, is_inline: false };
            return Ok(spliced(text, vec![(place, shown(&made(rest, value), &layout))]));
        }
        object = self::object(&member.value, path)?;
        left = rest;
    }
    Err(Broken::NotSafe)
}

/// Returns a value with the objects of a path around it, made from the inside out.
fn made(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(std::iter::once(((*key).to_owned(), inner)).collect())
    })
}

/// Removes the member at `path`, and the objects above it that are empty then.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, Broken> {
    let (Some(root), Some((key, above))) = (parse(text)?, path.split_last()) else {
        return Ok(text.to_owned());
    };
    let mut holder = object(&root, path)?;
    for step in above {
        let Some(member) = holder.get(step) else { return Ok(text.to_owned()) };
        holder = object(&member.value, path)?;
    }
    let Some(index) = holder.properties.iter().position(|member| member.name.as_str() == *key) else {
        return Ok(text.to_owned());
    };
    let new = Brackets::of(text, holder, &holder.properties).without(index);
    // Brackets that still hold a comment stay.
    if !above.is_empty() && has_nothing_at(&new, above)? { unset(&new, above) } else { Ok(new) }
}

/// Adds an item to the array at `path`, which is made if it is missing.
pub(super) fn push(text: &str, path: &[&str], item: &Value) -> Result<String, Broken> {
    let root = parse(text)?;
    let Some(array) = array(root.as_ref(), path)?.filter(|array| !array.elements.is_empty()) else {
        return set(text, path, &Value::Array(vec![item.clone()]));
    };
    if index_of(array, item).is_some() {
        return Ok(text.to_owned());
    }
    // An item is written on one line, so no unit of indentation is needed.
    Ok(Brackets::of(text, array, &array.elements).with("", |_| item.to_string()))
}

/// Removes an item from the array at `path`, and the array if it is empty then.
pub(super) fn pull(text: &str, path: &[&str], item: &Value) -> Result<String, Broken> {
    let root = parse(text)?;
    let found = array(root.as_ref(), path)?.and_then(|array| Some((array, index_of(array, item)?)));
    let Some((array, index)) = found else { return Ok(text.to_owned()) };
    let new = Brackets::of(text, array, &array.elements).without(index);
    if has_nothing_at(&new, path)? { unset(&new, path) } else { Ok(new) }
}

fn index_of(array: &Array<'_>, item: &Value) -> Option<usize> {
    array.elements.iter().position(|other| Value::from(other.clone()) == *item)
}

fn parse(text: &str) -> Result<Option<ast::Value<'_>>, Broken> {
    bound(text, b",[{")?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        let (line, column) = line_and_column(text, error.range().start);
        Broken::Unreadable { line, column, why: error.kind().to_string() }
    })?;
    Ok(parsed.value)
}

fn object<'a, 'b>(value: &'b ast::Value<'a>, path: &[&str]) -> Result<&'b Object<'a>, Broken> {
    value.as_object().ok_or_else(|| Broken::OtherKind(path.join(".")))
}

/// Returns the array at a path; `None` if nothing is there. Another value there is an error.
fn array<'a, 'b>(root: Option<&'b ast::Value<'a>>, path: &[&str]) -> Result<Option<&'b Array<'a>>, Broken> {
    let Some(mut value) = root else { return Ok(None) };
    for key in path {
        let Some(member) = object(value, path)?.get(key) else { return Ok(None) };
        value = &member.value;
        if matches!(value, ast::Value::NullKeyword(_)) {
            return Ok(None);
        }
    }
    value.as_array().map(Some).ok_or_else(|| Broken::OtherKind(path.join(".")))
}

/// Tells whether the brackets at a path hold nothing, not even a comment.
fn has_nothing_at(text: &str, path: &[&str]) -> Result<bool, Broken> {
    let root = parse(text)?;
    let found = root
        .as_ref()
        .and_then(|root| path.iter().try_fold(root, |value, key| Some(&value.as_object()?.get(key)?.value)));
    let held = found.map(range).and_then(|place| text.get(place.start + 1..place.end - 1));
    Ok(held.is_some_and(|held| held.trim().is_empty()))
}

fn range(part: &impl Ranged) -> Range<usize> {
    part.start()..part.end()
}

/// The layout of a value.
struct Layout<'a> {
    /// The blanks at the beginning of the line on which it begins.
    indent: &'a str,
    /// The text that each further level adds.
    unit: &'a str,
    /// True if objects in it are written on one line.
    is_inline: bool,
}

/// Writes a value: an object has a line for each member, an array one line.
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
    /// From the opening bracket to the end of the closing one.
    range: Range<usize>,
    children: Vec<Range<usize>>,
}

impl<'a> Brackets<'a> {
    fn of(text: &'a str, holder: &impl Ranged, children: &[impl Ranged]) -> Self {
        Self { text, range: range(holder), children: children.iter().map(range).collect() }
    }

    /// Returns the text with one more child, after the others.
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
        // If no comma follows the last child, the one before it is removed.
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
                    // The blanks before the child were added with it.
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

/// Returns the blanks at the beginning of the line that has an offset.
fn indent_at(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let rest = text.get(line..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest.get(..blanks).unwrap_or_default()
}

/// Returns one level of a text's indentation: the blanks before its first member, else two blanks.
fn unit(text: &str, root: &ast::Value<'_>) -> String {
    let first = root.as_object().and_then(|object| object.properties.first());
    let found = first.map(|member| indent_at(text, member.range.start)).filter(|indent| !indent.is_empty());
    found.unwrap_or("  ").to_owned()
}

/// Returns the offset of a comma between two offsets, if only blanks and comments stand before it.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let at = behind_comments(text, from, char::is_whitespace);
    (at < to && text.get(at..)?.starts_with(',')).then_some(at)
}

/// Returns the offset at which the line ends, if only blanks and comments stand before that.
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
