//! Reads a past edit from its rows in the database.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::history::chain::Chains;
use crate::history::edit::{ChangeKind, EditId};
use crate::history::embedded::database::{DatabaseFault, has_table};
use crate::history::entry::{Entry, EntryFile};
use crate::os;

/// The start of a query for the columns that [`entry`] reads.
pub(super) const COLUMNS: &str = "SELECT number, id, time, tool, undoes FROM edit";

/// Returns the number and the edit of a row, which has the columns of [`COLUMNS`]. Adds the edit's undo chain
/// (the edit, its undos and redos, and so on) to `chains`.
pub(super) fn entry(
    connection: &Connection,
    row: &Row<'_>,
    chains: &mut Chains,
) -> Result<(i64, Entry), DatabaseFault> {
    let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
    let id = EditId::parse(&id).ok_or_else(DatabaseFault::garbled)?;
    let time = time_of(row.get(2)?)?;
    let mut statement = connection.prepare_cached(
        "SELECT path, relative, encoding, kind, before, after, diff FROM file WHERE edit = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([number])?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        let encoding: String = row.get(2)?;
        files.push(EntryFile {
            root: None,
            path: os::path_of(row.get(0)?).ok_or_else(DatabaseFault::garbled)?,
            relative: os::path_of(row.get(1)?).ok_or_else(DatabaseFault::garbled)?,
            encoding: Label::parse(&encoding).ok_or_else(DatabaseFault::garbled)?.encoding,
            kind: ChangeKind::of_number(row.get(3)?).ok_or_else(DatabaseFault::garbled)?,
            before: digest(row.get(4)?)?,
            after: digest(row.get(5)?)?,
            diff: row.get(6)?,
        });
    }
    drop(rows);
    let (client, session) = origin(connection, &id)?;
    let (tool, undoes) = (row.get(3)?, id_of(row, 4)?);
    let chain = id.clone();
    let mut entry =
        Entry { id, time, tool, client, session, undoes, is_redo: false, undone_by: None, chain, files };
    if !chains.know(&entry.id) {
        add_chain(connection, &entry, chains)?;
    }
    chains.resolve(&mut entry);
    Ok((number, entry))
}

fn id_of(row: &Row<'_>, column: usize) -> Result<Option<EditId>, DatabaseFault> {
    Ok(row.get::<_, Option<String>>(column)?.as_deref().and_then(EditId::parse))
}

/// Adds the undo chain of an edit to `chains`, unless the chain has no other edit.
fn add_chain(connection: &Connection, entry: &Entry, chains: &mut Chains) -> Result<(), DatabaseFault> {
    let mut undos = connection.prepare_cached("SELECT 1 FROM edit WHERE undoes = ?1")?;
    if entry.undoes.is_none() && !undos.exists([&entry.id.0])? {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE chain (number, id, undoes) AS (
            SELECT number, id, undoes FROM edit WHERE id = ?1
            UNION
            SELECT edit.number, edit.id, edit.undoes
                FROM chain JOIN edit ON edit.id = chain.undoes OR edit.undoes = chain.id
        ) SELECT id, undoes FROM chain ORDER BY number",
    )?;
    let mut rows = statement.query([&entry.id.0])?;
    while let Some(row) = rows.next()? {
        let id = id_of(row, 0)?.ok_or_else(DatabaseFault::garbled)?;
        chains.add(id, id_of(row, 1)?.as_ref());
    }
    Ok(())
}

/// Returns the time that is this number of milliseconds after the start of 1970.
pub(super) fn time_of(milliseconds: i64) -> Result<SystemTime, DatabaseFault> {
    let since = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).ok_or_else(DatabaseFault::garbled)
}

/// Returns the client and the session of an edit; each is `None` if it was not kept.
fn origin(connection: &Connection, id: &EditId) -> Result<(Option<String>, Option<String>), DatabaseFault> {
    if !has_table(connection, "origin")? {
        return Ok((None, None));
    }
    let found = connection
        .prepare_cached("SELECT client, session FROM origin WHERE id = ?1")?
        .query_row([&id.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn digest(bytes: Option<Vec<u8>>) -> Result<Option<Digest>, DatabaseFault> {
    let whole =
        |bytes: Vec<u8>| bytes.try_into().map(Digest::from_bytes).map_err(|_| DatabaseFault::garbled());
    bytes.map(whole).transpose()
}
