//! Changes TOML: a new table is added after all others, and a value is changed in place.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use toml_edit::{Document, DocumentMut, Item, RawString, TableLike};

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

/// Removes the value at `path`. What stands before a table's header stays, too, as it may be another's.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, ConfigError> {
    let Some((key, above)) = path.split_last() else { return Err(ConfigError::NotSafe) };
    let document = parse(text)?;
    let found = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    let header = found.and_then(Item::as_table).filter(|table| !table.is_implicit() && !table.is_dotted());
    let header = header.and_then(|table| {
        let prefix = table.decor().prefix().and_then(RawString::span).unwrap_or_default();
        Some((table.span()?.start, prefix.len()))
    });
    let mut document = document.into_mut();
    if let Some(table) = table_at(&mut document, above) {
        table.remove(key);
    }
    let new = document.to_string();
    let cut = header.and_then(|(start, prefix)| {
        Some((text.get(..start)?, new.strip_prefix(text.get(..start.checked_sub(prefix)?)?)?))
    });
    let Some((before, after)) = cut else { return Ok(new) };
    // The blank line that was added before the table is removed, too, if it is still there.
    let is_apart = before.ends_with("\n\n") && (after.is_empty() || after.starts_with('\n'));
    let before = if is_apart { before.strip_suffix('\n').unwrap_or(before) } else { before };
    Ok(format!("{before}{after}"))
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

fn written(value: &Value) -> Result<toml_edit::Value, ConfigError> {
    Ok(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => number.as_i64().ok_or(ConfigError::NotSafe)?.into(),
        Value::Array(items) => items.iter().map(written).collect::<Result<toml_edit::Array, _>>()?.into(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((key.as_str(), written(value)?)));
            fields.collect::<Result<toml_edit::InlineTable, ConfigError>>()?.into()
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
