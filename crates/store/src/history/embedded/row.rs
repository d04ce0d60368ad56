//! A past edit's row in the database.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::history::edit::{EditId, Kind};
use crate::history::embedded::database::Fault;
use crate::history::entry::{Entry, EntryFile};
use crate::os;

/// The columns that [`entry`] reads.
pub(super) const COLUMNS: &str = "SELECT number, id, time, tool, undoes FROM edit";

/// The condition, with its parameters, that selects the edits of a file or of files below a directory.
pub(super) fn below(path: Option<&Path>) -> (&'static str, Vec<Value>) {
    let Some(path) = path else { return ("", Vec::new()) };
    let Some(exact) = os::bytes_of(path).map(<[u8]>::to_vec) else {
        return ("WHERE false", Vec::new());
    };
    let separator = std::path::MAIN_SEPARATOR as u8;
    let mut from = exact.clone();
    while from.last() == Some(&separator) {
        from.pop();
    }
    let mut to = from.clone();
    from.push(separator);
    to.push(separator + 1);
    let filter = "WHERE number IN (SELECT edit FROM file WHERE path = ?1 OR path >= ?2 AND path < ?3)";
    (filter, [exact, from, to].map(Value::Blob).into())
}

/// The edit of a row of [`COLUMNS`], and its number.
pub(super) fn entry(connection: &Connection, row: &Row<'_>) -> Result<(i64, Entry), Fault> {
    let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
    let id = EditId::parse(&id).ok_or_else(Fault::garbled)?;
    let time = Duration::from_millis(u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0));
    let time = UNIX_EPOCH.checked_add(time).ok_or_else(Fault::garbled)?;
    let undone_by: Option<String> = connection
        .prepare_cached("SELECT id FROM edit WHERE undoes = ?1 ORDER BY number DESC LIMIT 1")?
        .query_row([&id.0], |row| row.get(0))
        .optional()?;
    let mut statement = connection.prepare_cached(
        "SELECT path, relative, encoding, kind, before, after, diff FROM file WHERE edit = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([number])?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        let encoding: String = row.get(2)?;
        files.push(EntryFile {
            path: os::path_of(row.get(0)?).ok_or_else(Fault::garbled)?,
            relative: os::path_of(row.get(1)?).ok_or_else(Fault::garbled)?,
            encoding: Label::parse(&encoding).ok_or_else(Fault::garbled)?.encoding,
            kind: Kind::of_number(row.get(3)?).ok_or_else(Fault::garbled)?,
            before: digest(row.get(4)?)?,
            after: digest(row.get(5)?)?,
            diff: row.get(6)?,
        });
    }
    let id_of = |text: Option<String>| text.as_deref().and_then(EditId::parse);
    let (tool, undoes) = (row.get(3)?, id_of(row.get(4)?));
    Ok((number, Entry { id, time, tool, undoes, undone_by: id_of(undone_by), files }))
}

pub(super) fn digest(bytes: Option<Vec<u8>>) -> Result<Option<Digest>, Fault> {
    let whole = |bytes: Vec<u8>| bytes.try_into().map(Digest::from_bytes).map_err(|_| Fault::garbled());
    bytes.map(whole).transpose()
}
