//! Changes TOML: a new table is added after all others, a table is removed with its lines, and a value is
//! changed in place.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use toml_edit::{Document, DocumentMut, Item, TableLike};

use super::config_error::{ConfigError, bound, line_and_column};

/// Parses a text.
pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    Ok(said(parse(text)?.as_item()))
}

/// Sets the value at `path`. A new object becomes a table.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, ConfigError> {
    let mut document = parse(text)?.into_mut();
    let Some((key, above)) = path.split_last() else { return Err(ConfigError::NotSafe) };
    let is_inline = is_inline(&document, above);
    let Some(table) = table_at(&mut document, above) else {
        return appended(text, path, value);
    };
    match (value, table.get_mut(key)) {
        (Value::Object(_), None) if !is_inline => appended(text, path, value),
        (_, Some(Item::Value(old))) => {
            let mut new = written(value)?;
            *new.decor_mut() = old.decor().clone();
            *old = new;
            Ok(document.to_string())
        }
        (_, None) => {
            table.insert(key, Item::Value(written(value)?));
            Ok(document.to_string())
        }
        (Value::Object(_), Some(_)) => appended(&unset(text, path)?, path, value),
        _ => Err(ConfigError::OtherKind(path.join("."))),
    }
}

/// Removes the value at `path`.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, ConfigError> {
    let document = parse(text)?;
    let found = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    let Some(found) = found else { return Ok(text.to_owned()) };
    let mut headers = Vec::new();
    headers_of(document.as_item(), &mut headers);
    let mut ours = Vec::new();
    headers_of(found, &mut ours);
    if let Some(first) = ours.iter().min().filter(|_| found.is_table() && is_whole(found)) {
        let next = headers.iter().filter(|start| *start > first && !ours.contains(start)).min();
        // The lines can be cut out only if no other table's header lies between the headers of this table.
        if ours.iter().all(|start| next.is_none_or(|next| start < next)) {
            return Ok(without_lines(text, *first, next.copied()));
        }
    }
    let mut document = document.into_mut();
    let Some((key, above)) = path.split_last() else { return Err(ConfigError::NotSafe) };
    if let Some(table) = table_at(&mut document, above) {
        table.remove(key);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<Document<&str>, ConfigError> {
    bound(text, b",[{=.")?;
    Document::parse(text).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        ConfigError::Unreadable { line, column, why: error.message().trim().replace('\n', "; ") }
    })
}

fn table_at<'a>(document: &'a mut DocumentMut, path: &[&str]) -> Option<&'a mut dyn TableLike> {
    let mut item = document.as_item_mut();
    for key in path {
        item = item.as_table_like_mut()?.get_mut(key)?;
    }
    item.as_table_like_mut()
}

/// Tells whether a table is inline (on one line). If so, a header cannot add another table to it.
fn is_inline(document: &DocumentMut, path: &[&str]) -> bool {
    let found = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    found.is_some_and(Item::is_inline_table)
}

/// Returns the text with a table after all others.
fn appended(text: &str, path: &[&str], value: &Value) -> Result<String, ConfigError> {
    let Value::Object(fields) = value else { return Err(ConfigError::OtherKind(path.join("."))) };
    let header: Vec<String> = path.iter().map(|key| toml_edit::Key::new(*key).to_string()).collect();
    let mut new = text.to_owned();
    if !new.is_empty() {
        new.push_str(if new.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let _ = writeln!(new, "[{}]", header.join("."));
    for (key, value) in fields {
        let _ = writeln!(new, "{} = {}", toml_edit::Key::new(key), written(value)?);
    }
    Ok(new)
}

/// Returns the text without the lines of a table that begins at an offset, up to the next table. Comments
/// directly before the next table belong to the next table, and stay.
fn without_lines(text: &str, start: usize, next: Option<usize>) -> String {
    let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let table = rest.get(..next.map_or(rest.len(), |next| next - start)).unwrap_or_default();
    let mut kept = table.len();
    for line in table.split_inclusive('\n').rev() {
        if !(line.trim().is_empty() || line.trim_start().starts_with('#')) {
            break;
        }
        kept -= line.len();
    }
    let after = rest.get(kept..).unwrap_or_default();
    // The blank line that was added before the table is removed, too, if it is still there.
    let is_apart = before.ends_with("\n\n") && (after.is_empty() || after.starts_with('\n'));
    let before = if is_apart { before.strip_suffix('\n').unwrap_or(before) } else { before };
    format!("{before}{after}")
}

/// Collects the offsets at which the headers of an item, and of the items in it, begin.
fn headers_of(item: &Item, found: &mut Vec<usize>) {
    match item {
        Item::Table(table) => {
            if let (Some(span), false) = (table.span(), table.is_implicit() || table.is_dotted()) {
                found.push(span.start);
            }
            table.iter().for_each(|(_, inner)| headers_of(inner, found));
        }
        Item::ArrayOfTables(tables) => {
            for table in tables {
                found.extend(table.span().map(|span| span.start));
                table.iter().for_each(|(_, inner)| headers_of(inner, found));
            }
        }
        Item::None | Item::Value(_) => {}
    }
}

/// Tells whether a table has a header of its own.
fn is_whole(item: &Item) -> bool {
    item.as_table().is_some_and(|table| !table.is_implicit() && !table.is_dotted())
}

fn written(value: &Value) -> Result<toml_edit::Value, ConfigError> {
    Ok(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => number.as_i64().ok_or(ConfigError::NotSafe)?.into(),
        Value::Array(items) => {
            let items: Result<toml_edit::Array, ConfigError> = items.iter().map(written).collect();
            items?.into()
        }
        Value::Object(fields) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in fields {
                table.insert(key, written(value)?);
            }
            table.into()
        }
        Value::Null => return Err(ConfigError::NotSafe),
    })
}

fn said(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => said_by(value),
        Item::Table(table) => object(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| object(table)).collect(),
    }
}

fn said_by(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(said_by).collect(),
        toml_edit::Value::InlineTable(table) => object(table),
    }
}

fn object(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), said(item))).collect::<Map<_, _>>())
}
