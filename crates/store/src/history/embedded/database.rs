//! Opens the SQLite database of past edits when it is first needed, and reopens it when its file was
//! replaced: [`HistoryDatabase`].
//!
//! `record.rs` writes the database's tables, and `lookup.rs` reads them.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::history::settings::{NotKept, Remedy};
use crate::os;

/// The version of the tables that this program knows, in SQLite's `user_version`.
const VERSION: i64 = 1;

/// The value ("mteh") of SQLite's `application_id`, which distinguishes this database from other programs'
/// databases.
const APPLICATION: i64 = 0x6d74_6568;

/// The maximum time that a call waits for other processes.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum time that a call waits for other processes after another call timed out, so that not every
/// edit waits for [`PATIENCE`].
const IMPATIENCE: Duration = Duration::from_millis(20);
/// The time from a failed attempt to open the database until the next attempt. If the file has changed, the
/// next edit tries at once.
const AGAIN: Duration = Duration::from_secs(1);
/// The maximum number of attempts to open the database, if its file is replaced during each attempt.
const MAX_ATTEMPTS: usize = 3;

/// The tables of the first version. `file` has no row ids, so an edit writes few pages: pages of both tables
/// and of one index of each table. Only an undo also writes to `edit_undoes`.
const SCHEMA: &str = "
    CREATE TABLE edit (
        number INTEGER PRIMARY KEY,      -- in order of time
        id TEXT NOT NULL UNIQUE,
        time INTEGER NOT NULL,           -- milliseconds since 1970, UTC
        tool TEXT NOT NULL,
        undoes TEXT,                     -- an id, whether it is still kept or not
        bytes INTEGER NOT NULL,          -- about what it takes up
        upto INTEGER NOT NULL            -- the sum of bytes up to this edit
    ) STRICT;
    CREATE INDEX edit_undoes ON edit (undoes) WHERE undoes IS NOT NULL;
    CREATE TABLE file (
        edit INTEGER NOT NULL,
        position INTEGER NOT NULL,
        path BLOB NOT NULL,
        relative BLOB NOT NULL,
        encoding TEXT NOT NULL,
        before BLOB,                     -- digests
        after BLOB,
        kind INTEGER NOT NULL,           -- 0 changed, 1 created, 2 removed, 3 displaced
        diff TEXT NOT NULL,
        undo BLOB NOT NULL,              -- see format.rs
        PRIMARY KEY (edit, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_path ON file (path);
";

/// Tables for the client and session of an edit, for the keys of the roots of its files, and for the secret
/// that all users of the database share. These tables are separate, because older versions of this program
/// use the same database without knowing them. The first two have the edit's id as their key, not its number,
/// because the numbers start again once all edits are deleted. The triggers delete rows of these tables when
/// an older version deletes edits.
const LATER_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS origin (
        id TEXT NOT NULL PRIMARY KEY,    -- of an edit
        client TEXT,
        session TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS origin_gone AFTER DELETE ON edit BEGIN
        DELETE FROM origin WHERE id = OLD.id;
    END;
    CREATE TABLE IF NOT EXISTS root_keys (
        id TEXT NOT NULL PRIMARY KEY,    -- of an edit
        keys BLOB NOT NULL               -- 16 bytes for each file
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS root_keys_gone AFTER DELETE ON edit BEGIN
        DELETE FROM root_keys WHERE id = OLD.id;
    END;
    CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL) STRICT;
";

/// The reason why an operation on the database failed.
#[derive(Debug)]
pub(super) enum DatabaseFault {
    Sql(rusqlite::Error),
    System(io::Error),
    /// The database is damaged.
    Damaged,
    /// The file does not belong to this version of this program, so it must be neither written to nor
    /// removed.
    Foreign(String),
    Other(String),
}

impl From<rusqlite::Error> for DatabaseFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<io::Error> for DatabaseFault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl DatabaseFault {
    /// Returns the fault for contents that this program cannot have written.
    pub(super) fn garbled() -> Self {
        Self::Damaged
    }

    /// Tells whether the file is so damaged that no version of this program can read it.
    pub(super) fn is_unreadable(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self, Self::Damaged) || matches!(self.code(), Some(DatabaseCorrupt | NotADatabase))
    }

    fn code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self.code(), Some(DatabaseBusy | DatabaseLocked))
    }

    /// Tells whether the connection can still be used.
    fn leaves_open(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, DiskFull, TooBig};
        self.is_busy() || matches!(self.code(), Some(ConstraintViolation | DiskFull | TooBig))
    }

    fn into_reason(self) -> String {
        match self {
            Self::Sql(rusqlite::Error::SqliteFailure(_, Some(words)))
            | Self::Foreign(words)
            | Self::Other(words) => words,
            Self::Damaged => "the database is damaged".to_owned(),
            Self::Sql(error) => error.to_string(),
            Self::System(error) => error.to_string(),
        }
    }
}

impl From<DatabaseFault> for NotKept {
    fn from(fault: DatabaseFault) -> Self {
        if fault.code() == Some(rusqlite::ErrorCode::TooBig) {
            return Self::TooLarge;
        }
        let remedy = match fault {
            DatabaseFault::Foreign(_) => Remedy::MoveAway,
            _ if fault.is_unreadable() => Remedy::Forget,
            _ => Remedy::Retry,
        };
        Self::Unavailable { reason: fault.into_reason(), remedy }
    }
}

/// A process's access to the database.
#[derive(Debug)]
pub(super) struct HistoryDatabase {
    path: PathBuf,
    open: Option<Open>,
    failed: Option<Failed>,
    backoff: Duration,
}

/// A connection, and the key of the database file.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    key: Option<(u64, u64)>,
    /// The time of the last search for edits that are too old; `None` if there was no search yet, or if the
    /// last search left such edits.
    pub(super) aged: Option<Instant>,
}

/// Tells whether a table exists. Older versions of this program create databases without [`LATER_TABLES`].
pub(super) fn has_table(connection: &Connection, name: &str) -> Result<bool, DatabaseFault> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    Ok(statement.exists([name])?)
}

/// Creates the [`LATER_TABLES`] that do not exist yet.
pub(super) fn make_later_tables(transaction: &Transaction<'_>) -> Result<(), DatabaseFault> {
    if !has_table(transaction, "secret")? {
        transaction.execute_batch(LATER_TABLES)?;
    }
    Ok(())
}

/// A failed attempt to open the database.
#[derive(Debug)]
struct Failed {
    when: Instant,
    look: Look,
    reason: String,
}

/// The facts that show whether the database file has changed: its key, length and modification time.
type Look = Option<(Option<(u64, u64)>, u64, Option<std::time::SystemTime>)>;

fn look(path: &Path) -> Look {
    let of = |found: Metadata| (os::key_of(&found), found.len(), found.modified().ok());
    std::fs::symlink_metadata(path).ok().map(of)
}

impl HistoryDatabase {
    /// Returns a database that is not opened yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None, failed: None, backoff: PATIENCE }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns another connection to the same database, which is not opened yet.
    pub(super) fn another(&self) -> Self {
        Self::new(self.path.clone())
    }

    /// Runs `work` with the database. Creates the database if it does not exist.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Open) -> Result<T, DatabaseFault>,
    ) -> Result<T, DatabaseFault> {
        self.drop_if_moved();
        if self.open.is_none() {
            if let Some(failed) = &self.failed
                && failed.when.elapsed() < AGAIN
                && failed.look == look(&self.path)
            {
                return Err(DatabaseFault::Other(failed.reason.clone()));
            }
            match open(&self.path, true, self.backoff) {
                Ok(opened) => (self.open, self.failed) = (opened, None),
                Err(fault) => {
                    self.note(&fault);
                    let reason = fault.into_reason();
                    let look = look(&self.path);
                    self.failed = Some(Failed { when: Instant::now(), look, reason: reason.clone() });
                    return Err(DatabaseFault::Other(reason));
                }
            }
        }
        self.work(work)?.ok_or_else(DatabaseFault::garbled)
    }

    /// Runs `work` with the database; `None` if the database does not exist.
    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Open) -> Result<T, DatabaseFault>,
    ) -> Result<Option<T>, DatabaseFault> {
        self.drop_if_moved();
        if self.open.is_none() {
            self.open = open(&self.path, false, PATIENCE)?;
        }
        self.work(work)
    }

    fn work<T>(
        &mut self,
        work: impl FnOnce(&mut Open) -> Result<T, DatabaseFault>,
    ) -> Result<Option<T>, DatabaseFault> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let done = work(open);
        match &done {
            Ok(_) => self.note_patience(PATIENCE),
            Err(fault) => {
                self.note(fault);
                if !fault.leaves_open() {
                    self.open = None;
                }
            }
        }
        done.map(Some)
    }

    fn note(&mut self, fault: &DatabaseFault) {
        if fault.is_busy() {
            self.note_patience(IMPATIENCE);
        }
    }

    fn note_patience(&mut self, backoff: Duration) {
        if self.backoff != backoff {
            self.backoff = backoff;
            if let Some(open) = &self.open {
                open.connection.busy_timeout(backoff).ok();
            }
        }
    }

    /// Closes the connection if the database file was replaced or removed. SQLite would otherwise continue
    /// with the file that it has open.
    fn drop_if_moved(&mut self) {
        let key = self.open.as_ref().map(|open| open.key);
        if key.is_some_and(|key| key != key_of(&self.path)) {
            self.open = None;
        }
    }

    /// Closes the database and removes its files. Must be called only if the database cannot be read.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.open = None;
        self.failed = None;
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            #[expect(clippy::disallowed_methods, reason = "the history's own files, in the state directory")]
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn key_of(path: &Path) -> Option<(u64, u64)> {
    os::key_of(&std::fs::symlink_metadata(path).ok()?)
}

/// Opens the database, and creates it if `make` is set. Returns `None` if the database does not exist, or is
/// empty, and `make` is not set.
fn open(path: &Path, make: bool, backoff: Duration) -> Result<Option<Open>, DatabaseFault> {
    for _ in 0..MAX_ATTEMPTS {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => {
                return Err(DatabaseFault::Foreign("there is something else of its name".to_owned()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Err(_) if !make => return Ok(None),
            _ => {}
        }
        let before = key_of(path);
        let Some(connection) = connect(path, make, backoff)? else { return Ok(None) };
        let key = key_of(path);
        if before.is_none() || before == key {
            return Ok(Some(Open { connection, key, aged: None }));
        }
    }
    Err(DatabaseFault::Other("its file is exchanged over and over".to_owned()))
}

/// Connects to the database. Returns `None` if the database is empty and `make` is not set.
fn connect(path: &Path, make: bool, backoff: Duration) -> Result<Option<Connection>, DatabaseFault> {
    // SQLite's mutex is not needed, since this program has its own. No symbolic link is followed, and the
    // path is not interpreted as a URI.
    let mut flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, make);
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(backoff)?;
    // The check is one transaction, because another process may be creating the database.
    let is_new = check(&*connection.unchecked_transaction()?)?;
    if is_new && !make {
        return Ok(None);
    }
    // Temporary tables are in memory, since Landlock denies temporary files. Deleted bytes are overwritten.
    // Only a checkpoint of the log syncs; on macOS, the checkpoint also flushes the disk's own cache.
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON; PRAGMA synchronous = NORMAL;
         PRAGMA journal_size_limit = 4194304; PRAGMA checkpoint_fullfsync = ON;",
    )?;
    // Closing the last connection makes no checkpoint: a checkpoint would sync, and the next process can read
    // the log without it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if is_new {
        // The file is made private before SQLite creates the log, because the log gets the file's mode.
        os::make_private(path)?;
        prepare(&mut connection, backoff)?;
    }
    Ok(Some(connection))
}

/// Tells whether the database is still empty. Fails if it belongs to another program or to a newer version.
fn check(connection: &Connection) -> Result<bool, DatabaseFault> {
    let number = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
    let (version, application) = (number("PRAGMA user_version")?, number("PRAGMA application_id")?);
    if (version, application) == (VERSION, APPLICATION) {
        return Ok(false);
    }
    if application == APPLICATION && version > VERSION {
        return Err(DatabaseFault::Foreign(format!(
            "it was made by a newer version of this program (it has form {version}, and this one knows {VERSION})"
        )));
    }
    if (version, application) == (0, 0) && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(true);
    }
    Err(DatabaseFault::Foreign("it is the database of another program".to_owned()))
}

/// Creates the tables, unless another process has created them.
fn prepare(connection: &mut Connection, backoff: Duration) -> Result<(), DatabaseFault> {
    // The change to WAL needs exclusive access to the database for a moment. SQLite itself waits for readers,
    // but not for a process that is about to write: if two processes change the mode, each can hold a lock
    // that the other needs. So this loop retries the change.
    let start = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0));
        match mode.map_err(DatabaseFault::from) {
            Err(fault) if fault.is_busy() && start.elapsed() < backoff => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(fault) => return Err(fault),
            Ok(_) => break,
        }
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if check(&transaction)? {
        transaction.execute_batch(SCHEMA)?;
        transaction.execute_batch(LATER_TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    /// Returns a database that does not exist yet, and its directory.
    fn new() -> (tempfile::TempDir, HistoryDatabase) {
        let directory = tempfile::tempdir().unwrap();
        let database = HistoryDatabase::new(directory.path().join("history"));
        (directory, database)
    }

    fn fault(code: i32) -> DatabaseFault {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    fn reason<T: std::fmt::Debug>(done: Result<T, DatabaseFault>) -> String {
        done.unwrap_err().into_reason()
    }

    #[test]
    fn each_fault_has_its_remedy() {
        let remedy = |fault: DatabaseFault| match fault.into() {
            NotKept::Unavailable { remedy, .. } => Some(remedy),
            _ => None,
        };
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert_eq!(remedy(fault(code)), Some(Remedy::Forget), "{code}");
        }
        assert_eq!(remedy(DatabaseFault::garbled()), Some(Remedy::Forget));
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_READONLY] {
            assert_eq!(remedy(fault(code)), Some(Remedy::Retry), "{code}");
        }
        assert_eq!(remedy(DatabaseFault::Other(String::new())), Some(Remedy::Retry));
        assert_eq!(remedy(DatabaseFault::Foreign(String::new())), Some(Remedy::MoveAway));
        assert_eq!(NotKept::from(fault(ffi::SQLITE_TOOBIG)), NotKept::TooLarge);
    }

    #[test]
    fn after_a_wait_in_vain_the_next_is_short_until_one_attempt_succeeds() {
        let (_directory, mut database) = new();
        let waits = |database: &HistoryDatabase| {
            let connection = &database.open.as_ref().unwrap().connection;
            let set = connection.query_row("PRAGMA busy_timeout", (), |row| row.get::<_, i64>(0)).unwrap();
            (set, database.backoff)
        };
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED] {
            database.write(|_| Ok(())).unwrap();
            assert_eq!(waits(&database), (2000, PATIENCE));
            database.write::<()>(|_| Err(fault(code))).unwrap_err();
            assert_eq!(waits(&database), (20, IMPATIENCE), "{code}");
        }
        database.read(|_| Ok(())).unwrap();
        assert_eq!(waits(&database), (2000, PATIENCE));
        database.write::<()>(|_| Err(fault(ffi::SQLITE_FULL))).unwrap_err();
        assert_eq!(waits(&database), (2000, PATIENCE), "nobody was in the way");
    }

    #[test]
    fn a_connection_is_closed_after_a_fault_that_may_be_its_own() {
        use ffi::{SQLITE_BUSY, SQLITE_CONSTRAINT, SQLITE_FULL, SQLITE_LOCKED, SQLITE_TOOBIG};
        let (_directory, mut database) = new();
        let good = [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CONSTRAINT, SQLITE_FULL, SQLITE_TOOBIG];
        let bad = [ffi::SQLITE_CORRUPT, ffi::SQLITE_IOERR, ffi::SQLITE_NOTADB, ffi::SQLITE_READONLY];
        for code in good.into_iter().chain(bad) {
            database.write(|_| Ok(())).unwrap();
            database.write::<()>(|_| Err(fault(code))).unwrap_err();
            assert_eq!(database.open.is_some(), good.contains(&code), "{code}");
        }
    }

    #[test]
    fn a_failure_is_told_again_without_a_look_for_a_while_unless_the_file_changes() {
        let (directory, mut database) = new();
        std::fs::create_dir(directory.path().join("history")).unwrap();
        let found = reason(database.write(|_| Ok(())));
        let mut told = |when: Instant| {
            let failed = database.failed.as_mut().unwrap();
            (failed.when, failed.reason) = (when, "as before".to_owned());
            reason(database.write(|_| Ok(())))
        };
        // The time since a future moment counts as zero.
        let now = Instant::now() + AGAIN;
        assert_eq!(told(now), "as before");
        assert_eq!(told(now.checked_sub(2 * AGAIN).unwrap()), found);
        assert_eq!(told(now), "as before");
        std::fs::remove_dir(directory.path().join("history")).unwrap();
        database.write(|_| Ok(())).unwrap();
    }

    #[test]
    fn files_that_cannot_be_removed_are_told() {
        let (directory, mut database) = new();
        database.remove().unwrap();
        std::fs::create_dir(directory.path().join("history-wal")).unwrap();
        database.remove().unwrap_err();
    }

    #[test]
    #[cfg(unix)]
    fn a_database_that_cannot_be_looked_for_is_not_taken_for_none() {
        let directory = tempfile::tempdir().unwrap();
        let mut database = HistoryDatabase::new(directory.path().join("x".repeat(300)));
        assert!(matches!(database.read(|_| Ok(())), Err(DatabaseFault::System(_))));
    }

    #[test]
    #[cfg(unix)]
    fn no_link_is_followed_that_comes_after_the_look() {
        let (directory, mut database) = new();
        database.write(|_| Ok(())).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&database.path, &link).unwrap();
        connect(&link, false, PATIENCE).unwrap_err();
        assert!(connect(&database.path, false, PATIENCE).unwrap().is_some());
    }

    #[test]
    fn who_reads_or_writes_the_new_file_is_waited_for_as_long_as_asked() {
        for begun in ["BEGIN; SELECT count(*) FROM sqlite_schema", "BEGIN IMMEDIATE"] {
            let (_directory, database) = new();
            let other = Connection::open(&database.path).unwrap();
            other.execute_batch(begun).unwrap();
            assert!(open(&database.path, true, Duration::ZERO).unwrap_err().is_busy(), "{begun}");
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(50));
                    other.execute_batch("COMMIT").unwrap();
                });
                assert!(open(&database.path, true, Duration::from_mins(1)).unwrap().is_some(), "{begun}");
            });
        }
    }
}
