//! Records edits in the database, and drops the oldest edits if the bounds require it: [`record`].
//!
//! Deletes past edits, and removes their bytes from the database's files.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::history::edit::{Caller, EditId, EditedFile, NewEdit};
use crate::history::embedded::database::{DatabaseFault, HistoryDatabase, Open, make_later_tables};
use crate::history::embedded::lookup::{below, milliseconds, time_of};
use crate::history::entry::Forgotten;
use crate::history::format;
use crate::history::settings::{NotKept, Remedy, Settings};
use crate::os::{self, clock};

/// The time between two searches for edits that are too old.
const AGE_CHECK_INTERVAL: Duration = Duration::from_hours(1);

/// The minimum age, in milliseconds, of the edit whose time stands for the current time when old edits are
/// dropped. See [`proven`].
const PROVEN: i64 = 24 * 60 * 60 * 1000;

/// The maximum number of edits that one call drops because of their age, so that the first edit after a long
/// pause is not delayed.
const MAX_AGED: i64 = 64;

/// The maximum number of edits that one call drops because the history is too large. There can be more only
/// after a person has lowered the maximum size. Dropping this many edits takes some milliseconds.
const MAX_BEYOND: i64 = 1024;

/// The overhead of a file's row in bytes.
const ROW: u64 = 256;

/// The approximate size in bytes of the row with the client and the session of an edit.
const ORIGIN: u64 = 128;

/// The maximum size in bytes of a row that SQLite keeps within a page of the tree; longer rows get separate
/// pages.
const INLINE: u64 = 900;
const PAGE: u64 = 4096;

/// The maximum number of random ids that are tried until one is not in use yet. The probability that an id is
/// in use is 2⁻⁴⁸ for each kept edit.
const MAX_DRAWS: usize = 8;

/// An edit, and the rows of its files as they are stored.
struct EncodedEdit<'e> {
    edit: &'e NewEdit<'e>,
    /// For each file, its path, its path relative to the root, and its undo.
    files: Vec<([Vec<u8>; 2], Vec<u8>)>,
    root_keys: Vec<u8>,
    /// The approximate size on disk in bytes.
    bytes: i64,
}

impl<'e> EncodedEdit<'e> {
    fn new(edit: &'e NewEdit<'e>) -> Result<Self, NotKept> {
        let no_bytes =
            || NotKept::Unavailable { reason: "a path is not Unicode".to_owned(), remedy: Remedy::Retry };
        let bytes_of = |path: &PathBuf| os::bytes_of(path).map(<[u8]>::to_vec);
        let encoded = |file: &EditedFile| {
            let paths = [bytes_of(&file.path)?, bytes_of(&file.relative)?];
            Some((paths, format::encode(&file.undo)?))
        };
        let files = edit.files.iter().map(encoded).collect::<Option<Vec<_>>>().ok_or_else(no_bytes)?;
        // The path is counted twice, because an index contains it, too.
        let sizes = edit.files.iter().zip(&files);
        let bytes: u64 = sizes
            .map(|(file, ([path, relative], undo))| {
                let content = 2 * path.len() + relative.len() + undo.len() + file.diff.len();
                size_on_disk(content as u64)
            })
            .sum();
        let root_keys: Vec<u8> = edit.root_keys.iter().flat_map(|key| key.0).collect();
        let origin = if edit.by.client.is_some() || edit.by.session.is_some() { ORIGIN } else { 0 };
        let bytes = bytes + origin + root_keys.len() as u64;
        let bytes = i64::try_from(bytes).map_err(|_| NotKept::TooLarge)?;
        Ok(Self { edit, files, root_keys, bytes })
    }

    /// Inserts the edit with this number. `upto` is the total number of bytes of all edits up to and
    /// including this edit. `now` is the time in milliseconds since 1970.
    fn insert(
        &self,
        transaction: &Transaction<'_>,
        (number, upto): (i64, i64),
        now: i64,
    ) -> Result<EditId, DatabaseFault> {
        let Self { edit, files, root_keys, bytes } = self;
        let Caller { tool, client, session } = edit.by;
        let id = draw(|id| {
            let mut insert =
                transaction.prepare_cached("INSERT INTO edit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            let undoes = edit.undoes.map(|id| id.0.as_str());
            insert.execute(params![number, id, now, tool, undoes, bytes, upto])
        })?;
        let mut insert = transaction
            .prepare_cached("INSERT INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
        for (position, (file, ([path, relative], undo))) in edit.files.iter().zip(files).enumerate() {
            let digest = |digest: Option<mcp_text_editor_core::digest::Digest>| {
                digest.map(|digest| *digest.as_bytes())
            };
            insert.execute(params![
                number,
                i64::try_from(position).unwrap_or(i64::MAX),
                path,
                relative,
                file.encoding.name(),
                digest(file.before),
                digest(file.after),
                file.undo.kind().number(),
                file.diff,
                undo,
            ])?;
        }
        let has_origin = client.is_some() || session.is_some();
        if has_origin || !root_keys.is_empty() {
            make_later_tables(transaction)?;
        }
        if !root_keys.is_empty() {
            transaction
                .prepare_cached("INSERT INTO root_keys VALUES (?1, ?2)")?
                .execute(params![id.0, root_keys])?;
        }
        if has_origin {
            transaction
                .prepare_cached("INSERT INTO origin VALUES (?1, ?2, ?3)")?
                .execute(params![id.0, client, session])?;
        }
        Ok(id)
    }
}

/// Records edits, all or none, and returns the id and the time of each. With `sync`, the edits are on disk
/// when this function returns.
pub(super) fn record(
    database: &mut HistoryDatabase,
    settings: &Settings,
    edits: &[NewEdit<'_>],
    sync: bool,
) -> Result<Vec<(EditId, SystemTime)>, NotKept> {
    let edits = edits.iter().map(EncodedEdit::new).collect::<Result<Vec<_>, _>>()?;
    let most = i64::try_from(settings.bytes).unwrap_or(i64::MAX);
    if edits.iter().fold(0_i64, |sum, edit| sum.saturating_add(edit.bytes)) > most {
        return Err(NotKept::TooLarge);
    }
    let recorded = database.write(|open| {
        let now = now();
        let aged = open.aged.is_none_or(|aged| aged.elapsed() >= AGE_CHECK_INTERVAL);
        let Open { connection, .. } = open;
        if sync {
            // The connection stays at FULL. This is harmless: only recovery sets `sync`, and later edits only
            // become slower.
            connection.pragma_update(None, "synchronous", "FULL")?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let last = transaction
            .prepare_cached("SELECT number, upto FROM edit ORDER BY number DESC LIMIT 1")?
            .query_row((), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        let (mut number, mut upto) = last.unwrap_or_default();
        let (first, mut ids) = (number + 1, Vec::new());
        for edit in &edits {
            (number, upto) = (number + 1, upto.saturating_add(edit.bytes));
            ids.push((edit.insert(&transaction, (number, upto), now)?, time_of(now)?));
        }
        drop_beyond(&transaction, upto.saturating_sub(most))?;
        let mut has_looked = false;
        if aged {
            let days = Duration::from_secs(u64::from(settings.days) * 24 * 60 * 60);
            let days = i64::try_from(days.as_millis()).unwrap_or(i64::MAX);
            has_looked = match proven(&transaction, now)? {
                Some(time) => drop_older(&transaction, time.saturating_sub(days), first)?,
                None => true,
            };
        }
        transaction.commit()?;
        if aged {
            open.aged = has_looked.then(Instant::now);
        }
        Ok(ids)
    });
    Ok(recorded?)
}

fn size_on_disk(content: u64) -> u64 {
    let pages = if content > INLINE { content.div_ceil(PAGE) * PAGE } else { content };
    ROW + pages
}

/// Drops the oldest edits: those that begin before byte `beyond` of the running total that the column `upto`
/// has. Drops at most [`MAX_BEYOND`] edits.
fn drop_beyond(transaction: &Transaction<'_>, beyond: i64) -> Result<(), DatabaseFault> {
    if beyond <= 0 {
        return Ok(());
    }
    // This query reads the edits to drop and one more.
    let first_kept: Option<i64> = transaction
        .prepare_cached("SELECT number FROM edit WHERE upto - bytes >= ?1 ORDER BY number LIMIT 1")?
        .query_row([beyond], |row| row.get(0))
        .optional()?;
    let Some(first_kept) = first_kept else { return Ok(()) };
    let oldest: i64 = transaction
        .prepare_cached("SELECT number FROM edit ORDER BY number LIMIT 1")?
        .query_row((), |row| row.get(0))?;
    drop_before(transaction, first_kept.min(oldest.saturating_add(MAX_BEYOND)))
}

/// Returns the time of the newest edit that is at least [`PROVEN`] old; `None` if there is none. Ages are
/// measured from that edit's time, not from `now`. So if the clock is wrongly set forward, but corrected
/// within [`PROVEN`], no edit is dropped. If the clock is right, edits are kept at least [`PROVEN`] longer.
fn proven(transaction: &Transaction<'_>, now: i64) -> Result<Option<i64>, DatabaseFault> {
    let time = transaction
        .prepare_cached("SELECT time FROM edit WHERE time <= ?1 ORDER BY number DESC LIMIT 1")?
        .query_row([now.saturating_sub(PROVEN)], |row| row.get(0))
        .optional()?;
    Ok(time)
}

/// Drops the oldest edits that were made before `time` and have a number below `number`, at most [`MAX_AGED`]
/// of them. Returns whether no more such edits are left. If the clock was wrong, an edit with a time that is
/// too late also protects the edits after it until the history exceeds its maximum size.
fn drop_older(transaction: &Transaction<'_>, time: i64, number: i64) -> Result<bool, DatabaseFault> {
    let oldest = transaction
        .prepare_cached("SELECT number FROM edit WHERE number < ?1 ORDER BY number LIMIT 1")?
        .query_row([number], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(oldest) = oldest else { return Ok(true) };
    let end = number.min(oldest.saturating_add(MAX_AGED));
    let first_kept = transaction
        .prepare_cached("SELECT number FROM edit WHERE number < ?1 AND time >= ?2 ORDER BY number LIMIT 1")?
        .query_row([end, time], |row| row.get::<_, i64>(0))
        .optional()?;
    drop_before(transaction, first_kept.unwrap_or(end))?;
    Ok(first_kept.is_some() || end == number)
}

fn drop_before(transaction: &Transaction<'_>, number: i64) -> Result<(), DatabaseFault> {
    let deleted = transaction.prepare_cached("DELETE FROM edit WHERE number < ?1")?.execute([number])?;
    if deleted > 0 {
        transaction.prepare_cached("DELETE FROM file WHERE edit < ?1")?.execute([number])?;
    }
    Ok(())
}

/// Draws random ids until `insert` accepts one; at most [`MAX_DRAWS`].
fn draw(mut insert: impl FnMut(&str) -> rusqlite::Result<usize>) -> Result<EditId, DatabaseFault> {
    let mut tries = 0;
    loop {
        // Each `RandomState` has a new seed; std takes the first from the system.
        let drawn = RandomState::new().build_hasher().finish();
        let id = format!("{:012x}", drawn >> 16);
        tries += 1;
        match insert(&id) {
            Ok(_) => return Ok(EditId(id)),
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
                    && tries < MAX_DRAWS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the milliseconds since 1970.
fn now() -> i64 {
    milliseconds(clock::now())
}

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

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn what_does_not_fit_within_a_page_takes_whole_pages() {
        for (content, pages) in [(0, 0), (1, 1), (INLINE, INLINE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE)] {
            assert_eq!(size_on_disk(content), ROW + pages, "{content}");
        }
        assert_eq!(size_on_disk(INLINE + 1), ROW + PAGE);
    }

    #[test]
    fn an_id_that_is_taken_is_drawn_again_some_times() {
        let mut drawn = Vec::new();
        let id = draw(|id| {
            drawn.push(id.to_owned());
            if drawn.len() < MAX_DRAWS { Err(failure(ffi::SQLITE_CONSTRAINT)) } else { Ok(1) }
        });
        assert_eq!((id.unwrap().0, drawn.len()), (drawn[MAX_DRAWS - 1].clone(), MAX_DRAWS));
        for (code, times) in [(ffi::SQLITE_CONSTRAINT, MAX_DRAWS), (ffi::SQLITE_FULL, 1)] {
            let mut count = 0;
            let drawn = draw(|_| {
                count += 1;
                Err(failure(code))
            });
            assert!(drawn.is_err());
            assert_eq!(count, times, "{code}");
        }
    }
}
