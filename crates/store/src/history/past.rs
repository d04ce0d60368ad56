//! What was kept: looked up, and forgotten.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::database::Fault;
use super::{EditId, History, Kind, NotKept, Undo, format};
use crate::os;

/// A past edit.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its name.
    pub id: EditId,
    /// When it was made.
    pub time: SystemTime,
    /// The tool by which.
    pub tool: String,
    /// The edit that it took back.
    pub undoes: Option<EditId>,
    /// The last edit that took it back, if that is kept.
    pub undone_by: Option<EditId>,
    /// Its files, in the order of the call.
    pub files: Vec<EntryFile>,
}

/// What a past edit did to one file.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryFile {
    /// The absolute path that it had, without any symbolic link.
    pub path: PathBuf,
    /// The same path from its root on.
    pub relative: PathBuf,
    /// The encoding by which it was read.
    pub encoding: Encoding,
    /// What became of it.
    pub kind: Kind,
    /// The digest that it had; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest that it got; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// What was changed, as a unified diff that may be cut.
    pub diff: String,
}

/// What was forgotten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forgotten {
    /// How many edits; `None` if the database was removed unread, since it is damaged.
    pub edits: Option<u64>,
    /// Why their bytes may still be on disk: another process reads in the database, or the disk is full.
    pub remains: Option<String>,
}

const COLUMNS: &str = "SELECT number, id, time, tool, undoes FROM edit";

impl History {
    /// The past edits, the newest first; at most `limit`, of those that are `wanted`. With a path only those of this file
    /// or of files below this directory, named as they were then.
    ///
    /// Nothing is made where there is no history yet. A database that cannot be read is [`NotKept::Unavailable`], here
    /// and below.
    pub fn list(
        &self,
        path: Option<&Path>,
        limit: usize,
        wanted: &dyn Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, NotKept> {
        let entries = self.kept()?.database().read(|open| {
            let transaction = open.connection.transaction()?;
            let (filter, parameters) = below(path);
            let mut statement =
                transaction.prepare_cached(&format!("{COLUMNS} {filter} ORDER BY number DESC"))?;
            let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
            let mut entries = Vec::new();
            while entries.len() < limit
                && let Some(row) = rows.next()?
            {
                let (_, entry) = entry(&transaction, row)?;
                if wanted(&entry) {
                    entries.push(entry);
                }
            }
            Ok(entries)
        })?;
        Ok(entries.unwrap_or_default())
    }

    /// The edit of this id, and of each of its files what turns it back; `None` if it is not kept, or no more.
    pub fn get(&self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        let found = self.kept()?.database().read(|open| {
            let transaction = open.connection.transaction()?;
            let Some((number, entry)) = find(&transaction, id)? else { return Ok(None) };
            let mut statement = transaction
                .prepare_cached("SELECT kind, undo FROM file WHERE edit = ?1 ORDER BY position")?;
            let mut rows = statement.query([number])?;
            let mut undos = Vec::new();
            while let Some(row) = rows.next()? {
                let kind = Kind::of_number(row.get(0)?).ok_or_else(Fault::garbled)?;
                undos.push(format::decode(kind, row.get(1)?).ok_or_else(Fault::garbled)?);
            }
            Ok(Some((entry, undos)))
        })?;
        Ok(found.flatten())
    }

    /// The edit of the file that came after this one and is in the way of undoing it: the newest, if the file has now what
    /// that left (`now`); else the first, if it began with what this one left; else nobody knows who changed the file.
    pub fn later(&self, id: &EditId, path: &Path, now: Option<Digest>) -> Result<Option<Entry>, NotKept> {
        let Some(path) = os::bytes_of(path) else { return Ok(None) };
        let found = self.kept()?.database().read(|open| {
            let transaction = open.connection.transaction()?;
            let Some((number, _)) = find(&transaction, id)? else { return Ok(None) };
            let mut statement = transaction.prepare_cached(
                "SELECT edit, before, after FROM file WHERE path = ?1 AND edit >= ?2 AND kind <> ?3 ORDER BY edit",
            )?;
            let mut rows = statement.query(params![path, number, Kind::Displaced.number()])?;
            let mut chain = Vec::new();
            while let Some(row) = rows.next()? {
                chain.push((row.get::<_, i64>(0)?, digest(row.get(1)?)?, digest(row.get(2)?)?));
            }
            let (this, later): (Vec<_>, Vec<_>) = chain.into_iter().partition(|(edit, ..)| *edit == number);
            let left = this.first().and_then(|(_, _, after)| *after);
            let newest = later.last().filter(|(_, _, after)| *after == now);
            let Some((edit, ..)) = newest.or(later.first().filter(|(_, before, _)| *before == left)) else {
                return Ok(None);
            };
            let mut statement = transaction.prepare_cached(&format!("{COLUMNS} WHERE number = ?1"))?;
            let mut rows = statement.query([edit])?;
            rows.next()?.map(|row| entry(&transaction, row).map(|(_, entry)| entry)).transpose()
        })?;
        Ok(found.flatten())
    }

    /// Forgets all edits, or those of a file or of files below a directory, together with what they did to other files:
    /// an edit is undone as a whole or not at all. Their bytes are overwritten, in the database and in its log.
    ///
    /// With no path, a database that is damaged is removed; one of a newer version, or of another program, is left.
    pub fn forget(&self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        let mut database = self.kept()?.database();
        let forgotten = database.read(|open| {
            let edits = Some(delete(&mut open.connection, path)?);
            Ok(Forgotten { edits, remains: scrub(&open.connection).err() })
        });
        match forgotten {
            Ok(forgotten) => Ok(forgotten.unwrap_or(Forgotten { edits: Some(0), remains: None })),
            Err(fault) if path.is_none() && fault.is_unreadable() => {
                let removed = database.remove();
                removed.map_err(Fault::from)?;
                Ok(Forgotten { edits: None, remains: None })
            }
            Err(fault) => Err(fault.into()),
        }
    }
}

/// Deletes edits; how many.
fn delete(connection: &mut Connection, path: Option<&Path>) -> Result<u64, Fault> {
    let (filter, parameters) = below(path);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let numbers: Vec<i64> = transaction
        .prepare(&format!("SELECT number FROM edit {filter}"))?
        .query_map(rusqlite::params_from_iter(parameters), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for number in &numbers {
        transaction.prepare_cached("DELETE FROM edit WHERE number = ?1")?.execute([number])?;
        transaction.prepare_cached("DELETE FROM file WHERE edit = ?1")?.execute([number])?;
    }
    transaction.execute_batch(
        "UPDATE edit SET upto = sums.upto
           FROM (SELECT number, sum(bytes) OVER (ORDER BY number) AS upto FROM edit) AS sums
          WHERE edit.number = sums.number",
    )?;
    transaction.commit()?;
    Ok(numbers.len() as u64)
}

/// Sees to it that no page, and no page of the log, holds what was deleted: `secure_delete` has overwritten it where it stood,
/// and writing all anew leaves nothing where it once stood.
fn scrub(connection: &Connection) -> Result<(), String> {
    connection.execute_batch("VACUUM").map_err(|error| error.to_string())?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0));
    match is_busy {
        Ok(0) => Ok(()),
        Ok(_) => Err("another process is reading the history".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// What selects the edits of a file, or of files below a directory.
fn below(path: Option<&Path>) -> (&'static str, Vec<Value>) {
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

fn find(connection: &Connection, id: &EditId) -> Result<Option<(i64, Entry)>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
    let mut rows = statement.query([&id.0])?;
    rows.next()?.map(|row| entry(connection, row)).transpose()
}

/// The edit of a row of [`COLUMNS`], and its number.
fn entry(connection: &Connection, row: &Row<'_>) -> Result<(i64, Entry), Fault> {
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

fn digest(bytes: Option<Vec<u8>>) -> Result<Option<Digest>, Fault> {
    let whole = |bytes: Vec<u8>| bytes.try_into().map(Digest::from_bytes).map_err(|_| Fault::garbled());
    bytes.map(whole).transpose()
}
