//! Keeps edits in the database, deletes them, and drops the oldest: [`record`], [`forget`], [`Bounds`].

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_text_editor_store::backend::{Caller, DirectoryKey, EditedFile, NewEdit};
use mcp_text_editor_store::{EditId, HistorySettings as Settings, NotKept, Remedy, Undo, backend as os};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use crate::history::read::{FORGET, KeyRanges, of_database, storable, time_of};
use crate::postgres::database::{Database, Value, borrowed};
use crate::postgres::error::DatabaseError;
use crate::root_names::{RootNames, SharedPath};

/// The maximum number of ids that are drawn for an edit. A further id is drawn only if the last one is in
/// use; for each past edit, the chance of that is 2⁻⁴⁸.
const DRAWS: usize = 8;

/// The overhead of an edit, and of a file in it, in bytes.
const ROW: u64 = 256;

/// The time between two searches for edits that are too old.
const AGED: Duration = Duration::from_hours(1);

/// The minimum age in milliseconds of the edit whose time is used as the current time to find edits that are
/// too old. So a wrong clock that is corrected within this time drops no edit.
const PROVEN: i64 = 24 * 60 * 60 * 1000;

/// The maximum number of edits that are dropped for their age at once.
const AT_ONCE: i64 = 64;

/// The pause before each attempt to rewrite a table without its deleted rows.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(200)];

/// A process checks the bound in bytes whenever it has kept more bytes since its last check than the bound
/// divided by this number.
const PART: u64 = 64;

/// Keeps an edit, by one statement. Values: the id, tool, client, session, undone edit, machine
/// and size; for each file its position, root, path, path relative to the allowed directory, encoding,
/// digests, kind, diff and undo; and the keys of the roots.
const RECORD: &str = "with made as (
        insert into edits (id, tool, client, session, undoes, made_by, bytes, root_keys) values ($1, $2, $3, $4, $5, $6, $7, $18) returning number, time
    ), named as (
        insert into roots (name, made_by) select distinct r.name, $6 from unnest($9) as r (name) on conflict do nothing
    ), filed as (
        insert into edit_files (edit, position, root, path, relative, encoding, before, after, kind, diff, undo)
            select made.number, f.* from made, unnest($8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
                as f (position, root, path, relative, encoding, before, after, kind, diff, undo)
    )
    select time from made";

/// A file of an edit as it is kept in the database.
struct FileRow {
    shared: SharedPath,
    path: Vec<u8>,
    relative: Vec<u8>,
    undo: Vec<u8>,
}

fn unnameable(file: &EditedFile) -> NotKept {
    NotKept::Unavailable {
        reason: format!("{} has no name that holds on all machines", file.path.display()),
        remedy: Remedy::RootName,
    }
}

fn row(names: &RootNames, file: &EditedFile) -> Option<FileRow> {
    let bytes_of = |path: &PathBuf| os::bytes_of(path).map(<[u8]>::to_vec);
    let shared = names.shared(&file.path)?;
    let undo = match &file.undo {
        Undo::Remove { directories } => {
            let key = |directory: &PathBuf| os::path_of(names.shared(directory)?.key()?);
            let directories = directories.iter().map(key).collect::<Option<_>>()?;
            os::encode(&Undo::Remove { directories })?
        }
        undo => os::encode(undo)?,
    };
    Some(FileRow { path: bytes_of(&shared.relative)?, relative: bytes_of(&file.relative)?, shared, undo })
}

/// Keeps edits, all or none. Returns the id and the time of each, and their approximate size in bytes.
pub(super) fn record(
    database: &Database,
    names: &RootNames,
    settings: &Settings,
    edits: &[NewEdit<'_>],
) -> Result<(Vec<(EditId, SystemTime)>, u64), NotKept> {
    let mut encoded = Vec::new();
    for edit in edits {
        let mut rows = Vec::new();
        for file in &edit.files {
            rows.push(row(names, file).ok_or_else(|| unnameable(file))?);
        }
        let sizes = edit.files.iter().zip(&rows);
        let size = |(file, row): (&EditedFile, &FileRow)| {
            ROW + (2 * row.path.len() + row.relative.len() + row.undo.len() + file.diff.len()) as u64
        };
        let bytes = ROW + sizes.map(size).sum::<u64>();
        encoded.push((edit, rows, bytes));
    }
    let bytes = encoded.iter().map(|(.., bytes)| bytes).sum();
    if bytes > settings.bytes {
        return Err(NotKept::TooLarge);
    }
    let mut draw = 1;
    loop {
        let ids: Vec<EditId> = encoded.iter().map(|_| random_id()).collect();
        let edits = encoded.iter().zip(&ids);
        let values: Vec<_> =
            edits.map(|((edit, rows, bytes), id)| values(names, id, edit, rows, *bytes)).collect();
        let done = database.run(move |client| {
            Box::pin(async move {
                if let [only] = &values[..] {
                    return Ok(vec![client.query_typed(RECORD, &borrowed(only)).await?]);
                }
                let (transaction, mut rows) = (client.transaction().await?, Vec::new());
                for values in &values {
                    rows.push(transaction.query_typed(RECORD, &borrowed(values)).await?);
                }
                transaction.commit().await?;
                Ok(rows)
            })
        });
        match done {
            Ok(rows) => {
                let rows: Vec<Vec<tokio_postgres::Row>> = rows;
                let time = |row: &Vec<_>| row.first().and_then(time_of).unwrap_or(UNIX_EPOCH);
                return Ok((ids.into_iter().zip(rows.iter().map(time)).collect(), bytes));
            }
            Err(error) if error.is_taken() && draw < DRAWS => draw += 1,
            Err(error) => return Err(of_database(&error)),
        }
    }
}

fn random_id() -> EditId {
    loop {
        let random = RandomState::new().build_hasher().finish() >> 16;
        if let Some(id) = EditId::parse(&format!("{random:012x}")) {
            return id;
        }
    }
}

fn values(names: &RootNames, id: &EditId, edit: &NewEdit<'_>, rows: &[FileRow], bytes: u64) -> Vec<Value> {
    let Caller { tool, client, session } = edit.by;
    let files = edit.files.iter();
    let digest = |digest: Option<mcp_text_editor_core::digest::Digest>| {
        digest.map(|digest| digest.as_bytes().to_vec())
    };
    let before: Vec<_> = files.clone().map(|file| digest(file.before)).collect();
    let after: Vec<_> = files.clone().map(|file| digest(file.after)).collect();
    let kinds: Vec<i64> = files.clone().map(|file| file.undo.kind().number()).collect();
    let encodings: Vec<&'static str> = files.clone().map(|file| file.encoding.name()).collect();
    let diffs: Vec<Vec<u8>> = files.map(|file| file.diff.clone().into_bytes()).collect();
    let positions: Vec<i64> = (0..).take(rows.len()).collect();
    // The key of a shared directory is not kept, because it may differ between machines.
    let key = |(key, row): (&DirectoryKey, &FileRow)| {
        if row.shared.root.is_shared() { DirectoryKey::default() } else { *key }.0
    };
    let root_keys: Vec<u8> = edit.root_keys.iter().zip(rows).flat_map(key).collect();
    let of_rows = |of: fn(&FileRow) -> &Vec<u8>| rows.iter().map(of).cloned().collect::<Vec<_>>();
    let roots: Vec<String> = rows.iter().map(|row| row.shared.root.as_str().to_owned()).collect();
    vec![
        (Box::new(id.to_string()), Type::TEXT),
        (Box::new(storable(tool)), Type::TEXT),
        (Box::new(client.map(storable)), Type::TEXT),
        (Box::new(session.map(storable)), Type::TEXT),
        (Box::new(edit.undoes.map(ToString::to_string)), Type::TEXT),
        (Box::new(names.machine().to_owned()), Type::TEXT),
        (Box::new(i64::try_from(bytes).unwrap_or(i64::MAX)), Type::INT8),
        (Box::new(positions), Type::INT8_ARRAY),
        (Box::new(roots), Type::TEXT_ARRAY),
        (Box::new(of_rows(|row| &row.path)), Type::BYTEA_ARRAY),
        (Box::new(of_rows(|row| &row.relative)), Type::BYTEA_ARRAY),
        (Box::new(encodings), Type::TEXT_ARRAY),
        (Box::new(before), Type::BYTEA_ARRAY),
        (Box::new(after), Type::BYTEA_ARRAY),
        (Box::new(kinds), Type::INT8_ARRAY),
        (Box::new(diffs), Type::BYTEA_ARRAY),
        (Box::new(of_rows(|row| &row.undo)), Type::BYTEA_ARRAY),
        (Box::new(root_keys), Type::BYTEA),
    ]
}

/// Deletes all edits, or those of files in these places, and returns their number. Rewrites the tables, so
/// that no page contains bytes of deleted edits. If that fails, the second value is the reason.
pub(super) async fn forget(
    client: &Client,
    places: Option<KeyRanges>,
) -> Result<(u64, Option<String>), Error> {
    let (delete, values) = match places {
        Some(places) => (FORGET, KeyRanges::values(Some(places)).into()),
        None => ("delete from edits", Vec::new()),
    };
    let statement = format!("with gone as ({delete} returning 1) select count(*) from gone");
    let gone = client.query_typed(&statement, &borrowed(&values)).await?;
    let gone: i64 = gone.first().map_or(Ok(0), |row| row.try_get(0))?;
    let mut remains = None;
    for table in ["edits", "edit_files"] {
        let reason = match write_anew(client, table).await {
            Ok(true) => None,
            Ok(false) => {
                Some("another transaction of this database, which began before, still sees it".to_owned())
            }
            Err(error) => Some(DatabaseError::of_statement(&error).to_string()),
        };
        remains = reason.or(remains);
    }
    Ok((u64::try_from(gone).unwrap_or_default(), remains))
}

/// Rewrites a table. Returns `false` if deleted rows were written again: `vacuum (full)` keeps rows that an
/// older transaction of any program still sees, and counts them as rows of the table or of its indexes. Most
/// transactions are short, so this tries a few times.
async fn write_anew(client: &Client, table: &str) -> Result<bool, Error> {
    let vacuum = format!("vacuum (full) {table}");
    let count = format!(
        "select max(reltuples) <= (select count(*) from {table}) from pg_class where oid = '{table}'::regclass
            or oid in (select indexrelid from pg_index where indrelid = '{table}'::regclass)"
    );
    for pause in PAUSES {
        tokio::time::sleep(pause).await;
        client.batch_execute(&vacuum).await?;
        let counted = client.query_typed(&count, &[]).await?;
        if counted.first().map_or(Ok(true), |row| row.try_get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The time of this process's last check of the bound in bytes, and the number of bytes that it has kept
/// since.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    looked: Option<Instant>,
    since: u64,
    /// The time of the last search for edits that are too old; `None` if there may be more of them.
    aged: Option<Instant>,
}

impl Bounds {
    /// Drops the oldest edits if all edits together exceed the bound in bytes, or if they are too old by the
    /// database's clock. Each process checks the size once it has kept a 64th of the bound, so each process
    /// can exceed the bound by that much. After a failure, the next call tries again.
    pub(super) fn hold(&mut self, database: &Database, settings: &Settings, bytes: u64) {
        self.since = self.since.saturating_add(bytes);
        let is_young = |when: Option<Instant>| when.is_some_and(|when| when.elapsed() < AGED);
        if !is_young(self.looked) || self.since > settings.bytes / PART {
            let most = i64::try_from(settings.bytes).unwrap_or(i64::MAX);
            let dropped = database.run(move |client| Box::pin(drop_beyond(client, most)));
            match dropped {
                Ok(()) => (self.looked, self.since) = (Some(Instant::now()), 0),
                Err(error) => tracing::debug!(%error, "old edits are not dropped"),
            }
        }
        if !is_young(self.aged) {
            let days = i64::from(settings.days).saturating_mul(24 * 60 * 60 * 1000);
            match database.run(move |client| Box::pin(drop_older(client, days))) {
                Ok(is_all) => self.aged = is_all.then(Instant::now),
                Err(error) => tracing::debug!(%error, "old edits are not dropped"),
            }
        }
    }
}

/// Drops the oldest edits, so that the rest have at most this size in bytes.
async fn drop_beyond(client: &Client, most: i64) -> Result<(), Error> {
    let statement = "delete from edits where number <= (select max(s.number) from
        (select number, sum(bytes) over (order by number desc) as upto from edits) s where s.upto > $1)";
    client.query_typed(statement, &[(&most, Type::INT8)]).await?;
    Ok(())
}

/// Drops some of the edits that are too old. Ages are measured from the time of the last edit that was kept
/// at least a day ago. Returns whether no edit that is too old is left.
async fn drop_older(client: &Client, age: i64) -> Result<bool, Error> {
    let statement = "with proven as (
            select time from edits where time <= floor(extract(epoch from clock_timestamp()) * 1000) - $2 order by number desc limit 1
        ), old as (
            select e.number from edits e, proven where e.time < proven.time - $1 order by e.number limit $3
        ), gone as (delete from edits where number in (select number from old) returning 1)
        select count(*) from gone";
    let values: [(&(dyn ToSql + Sync), Type); 3] =
        [(&age, Type::INT8), (&PROVEN, Type::INT8), (&AT_ONCE, Type::INT8)];
    let rows = client.query_typed(statement, &values).await?;
    let gone: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(gone < AT_ONCE)
}
