//! Looks up past edits, and the secret, in the database.
//!
//! Converts a [`Filter`] for past edits, or a path, to an SQL condition.
//!
//! Reads a past edit from its rows in the database.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use crate::history::archive::MoveSince;
use crate::history::edit::{ChangeKind, EditId, Undo};
use crate::history::embedded::database::{DatabaseFault, HistoryDatabase, has_table, make_later_tables};
use crate::history::entry::{Chains, Entry, EntryFile, Filter};
use crate::history::format;
use crate::os;

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
