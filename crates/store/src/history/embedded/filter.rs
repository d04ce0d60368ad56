//! Converts a [`Filter`] for past edits, or a path, to an SQL condition.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::history::embedded::database::{DatabaseFault, has_table};
use crate::history::filter::Filter;
use crate::os;

/// Returns the SQL condition for the edits that pass the filter, and the condition's parameters.
pub(super) fn conditions(
    connection: &Connection,
    filter: &Filter,
) -> Result<(String, Vec<Value>), DatabaseFault> {
    let Filter { path, since, until, tool, client, session, text, before } = filter;
    let mut all = Conditions { parts: Vec::new(), values: Vec::new() };
    if let Some(path) = path {
        all.below(path);
    }
    for (when, condition) in [(since, "time >= ?"), (until, "time < ?")] {
        if let Some(when) = when {
            all.push(condition, [Value::Integer(milliseconds(*when))]);
        }
    }
    if let Some(tool) = tool {
        all.push("tool = ?", [Value::Text(tool.clone())]);
    }
    let of_origin = "id IN (SELECT id FROM origin WHERE ";
    for (wanted, column) in [(client, "client"), (session, "session")] {
        match wanted {
            Some(wanted) if has_table(connection, "origin")? => {
                all.push(&format!("{of_origin}{column} = ?)"), [Value::Text(wanted.clone())]);
            }
            Some(_) => all.push("false", []),
            None => {}
        }
    }
    if let Some(text) = text {
        let condition = "EXISTS (SELECT 1 FROM file WHERE edit = number AND instr(diff, ?) > 0)";
        all.push(condition, [Value::Text(text.clone())]);
    }
    if let Some(before) = before {
        all.push("number < (SELECT number FROM edit WHERE id = ?)", [Value::Text(before.0.clone())]);
    }
    Ok(all.joined())
}

/// Returns the SQL condition for the edits of a file or of files below a directory, and the condition's
/// parameters. Without a path, the condition selects all edits.
pub(super) fn below(path: Option<&Path>) -> (String, Vec<Value>) {
    let mut all = Conditions { parts: Vec::new(), values: Vec::new() };
    if let Some(path) = path {
        all.below(path);
    }
    all.joined()
}

/// SQL conditions that must all hold. `values` has one value for each `?` in `parts`, in order.
struct Conditions {
    parts: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn push(&mut self, part: &str, values: impl IntoIterator<Item = Value>) {
        self.parts.push(part.to_owned());
        self.values.extend(values);
    }

    fn below(&mut self, path: &Path) {
        let Some(exact) = os::bytes_of(path).map(<[u8]>::to_vec) else { return self.push("false", []) };
        let separator = std::path::MAIN_SEPARATOR as u8;
        let mut from = exact.clone();
        while from.last() == Some(&separator) {
            from.pop();
        }
        let mut to = from.clone();
        from.push(separator);
        to.push(separator + 1);
        let part = "number IN (SELECT edit FROM file WHERE path = ? OR path >= ? AND path < ?)";
        self.push(part, [exact, from, to].map(Value::Blob));
    }

    fn joined(self) -> (String, Vec<Value>) {
        if self.parts.is_empty() {
            return (String::new(), self.values);
        }
        (format!("WHERE {}", self.parts.join(" AND ")), self.values)
    }
}

/// Returns a time as the database stores it, in milliseconds since 1970; 0 for an earlier time.
pub(super) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
