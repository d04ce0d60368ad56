//! Looks up past edits, and the secret, in the database.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::history::archive::MoveSince;
use crate::history::chain::Chains;
use crate::history::edit::{ChangeKind, EditId, Undo};
use crate::history::embedded::database::{DatabaseFault, HistoryDatabase, has_table, make_later_tables};
use crate::history::embedded::filter::conditions;
use crate::history::embedded::row::{COLUMNS, entry};
use crate::history::entry::Entry;
use crate::history::filter::Filter;
use crate::history::format;

/// Implements [`Archive::each`](crate::history::archive::Archive::each).
pub(super) fn each(
    database: &mut HistoryDatabase,
    filter: &Filter,
    each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> Result<(), DatabaseFault> {
    let read = database.read(|open| {
        let transaction = open.connection.transaction()?;
        let (conditions, parameters) = conditions(&transaction, filter)?;
        let mut statement =
            transaction.prepare_cached(&format!("{COLUMNS} {conditions} ORDER BY number DESC"))?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
        let mut chains = Chains::default();
        while let Some(row) = rows.next()?
            && each(entry(&transaction, row, &mut chains)?.1).is_continue()
        {}
        Ok(())
    });
    read.map(Option::unwrap_or_default)
}

/// Implements [`History::get`](crate::history::History::get).
pub(super) fn get(
    database: &mut HistoryDatabase,
    id: &EditId,
) -> Result<Option<(Entry, Vec<Undo>)>, DatabaseFault> {
    let found = database.read(|open| {
        let transaction = open.connection.transaction()?;
        let Some((number, entry)) = of_id(&transaction, id)? else { return Ok(None) };
        let mut statement =
            transaction.prepare_cached("SELECT kind, undo FROM file WHERE edit = ?1 ORDER BY position")?;
        let mut rows = statement.query([number])?;
        let mut undos = Vec::new();
        while let Some(row) = rows.next()? {
            let kind = ChangeKind::of_number(row.get(0)?).ok_or_else(DatabaseFault::garbled)?;
            undos.push(format::decode(kind, row.get(1)?).ok_or_else(DatabaseFault::garbled)?);
        }
        Ok(Some((entry, undos)))
    })?;
    Ok(found.flatten())
}

/// Implements [`Archive::root_keys`](crate::history::archive::Archive::root_keys).
pub(super) fn root_keys(database: &mut HistoryDatabase, id: &EditId) -> Result<Vec<u8>, DatabaseFault> {
    let found = database.read(|open| {
        if !has_table(&open.connection, "root_keys")? {
            return Ok(None);
        }
        let mut statement = open.connection.prepare_cached("SELECT keys FROM root_keys WHERE id = ?1")?;
        Ok(statement.query_row([&id.0], |row| row.get(0)).optional()?)
    })?;
    Ok(found.flatten().unwrap_or_default())
}

/// Implements [`Archive::secret`](crate::history::archive::Archive::secret).
pub(super) fn secret(database: &mut HistoryDatabase, fresh: &[u8]) -> Result<Vec<u8>, DatabaseFault> {
    let kept = |connection: &Connection| {
        connection.prepare_cached("SELECT key FROM secret")?.query_row((), |row| row.get(0)).optional()
    };
    database.write(|open| {
        if has_table(&open.connection, "secret")?
            && let Some(key) = kept(&open.connection)?
        {
            return Ok(key);
        }
        let transaction = open.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        make_later_tables(&transaction)?;
        transaction
            .execute("INSERT INTO secret SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM secret)", [fresh])?;
        let key = kept(&transaction)?.ok_or_else(DatabaseFault::garbled)?;
        transaction.commit()?;
        Ok(key)
    })
}

/// Implements [`Archive::moves_since`](crate::history::archive::Archive::moves_since).
pub(super) fn moves_since(
    database: &mut HistoryDatabase,
    id: &EditId,
) -> Result<Vec<MoveSince>, DatabaseFault> {
    let found = database.read(|open| {
        let mut statement = open.connection.prepare_cached(
            "SELECT DISTINCT file.position, edit.number, edit.id, edit.undoes FROM file
            JOIN file AS later ON later.path = file.path AND later.edit > file.edit AND later.kind IN (?2, ?3)
            JOIN edit ON edit.number = later.edit
            WHERE file.edit = (SELECT number FROM edit WHERE id = ?1) AND file.after IS NOT NULL
            ORDER BY file.position, edit.number",
        )?;
        let kinds = [ChangeKind::Created, ChangeKind::Removed].map(ChangeKind::number);
        let mut rows = statement.query(params![id.0, kinds[0], kinds[1]])?;
        let mut moves = Vec::new();
        while let Some(row) = rows.next()? {
            moves.push((row.get(0)?, EditId(row.get(2)?), row.get::<_, Option<String>>(3)?.map(EditId)));
        }
        Ok(moves)
    })?;
    Ok(found.unwrap_or_default())
}

fn of_id(connection: &Connection, id: &EditId) -> Result<Option<(i64, Entry)>, DatabaseFault> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
    let mut rows = statement.query([&id.0])?;
    rows.next()?.map(|row| entry(connection, row, &mut Chains::default())).transpose()
}
