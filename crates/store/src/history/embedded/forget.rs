//! Deletes past edits, and removes their bytes from the database's files.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::history::embedded::database::{DatabaseFault, HistoryDatabase};
use crate::history::embedded::filter::below;
use crate::history::entry::Forgotten;

/// Implements [`History::forget`](crate::history::History::forget).
pub(super) fn forget(
    database: &mut HistoryDatabase,
    path: Option<&Path>,
) -> Result<Forgotten, DatabaseFault> {
    let forgotten = database.read(|open| {
        let edits = Some(delete(&mut open.connection, path)?);
        Ok(Forgotten { edits, remains: scrub(&open.connection).err() })
    });
    match forgotten {
        Ok(forgotten) => Ok(forgotten.unwrap_or(Forgotten { edits: Some(0), remains: None })),
        Err(fault) if path.is_none() && fault.is_unreadable() => {
            database.remove()?;
            Ok(Forgotten { edits: None, remains: None })
        }
        Err(fault) => Err(fault),
    }
}

/// Deletes all edits or, with a path, the edits of a file or of files below a directory. Returns the number
/// of deleted edits.
fn delete(connection: &mut Connection, path: Option<&Path>) -> Result<u64, DatabaseFault> {
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

/// Makes sure that no page of the database or of the log contains deleted bytes. SQLite's `secure_delete` has
/// overwritten the bytes only at their last position in the file. VACUUM rewrites the whole database, and so
/// clears older copies, too.
fn scrub(connection: &Connection) -> Result<(), String> {
    connection.execute_batch("VACUUM").map_err(|error| error.to_string())?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0));
    if is_busy.map_err(|error| error.to_string())? {
        return Err("another process is reading the history".to_owned());
    }
    Ok(())
}
