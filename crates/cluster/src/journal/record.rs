//! The record of a transaction under way, as a row ([`RowRecord`]); names for its files, from which every
//! machine finds the files under its own mounts ([`Everywhere`]); and the SQL statements about records.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::backend::{Naming, Record, Step, Subject, with_steps};
use mcp_text_editor_store::{Operation, StoreError, StoreErrorKind};
use tokio_postgres::types::Type;

use crate::journal::link::{JournalLink, failed};
use crate::postgres::database::{DatabaseSession, Value};
use crate::postgres::error::DatabaseError;
use crate::postgres::session::is_free;
use crate::root_names::{RootNames, SharedPath};

/// The maximum time for which an owner tries to find out whether a statement with a lost answer was carried
/// out.
const RESOLVING: Duration = Duration::from_secs(15);

/// The record of a transaction. Dropping this value removes the record.
#[derive(Debug)]
pub(crate) struct RowRecord {
    link: JournalLink,
    /// The session that the record belongs to.
    session: Arc<DatabaseSession>,
    claim: i64,
    contents: String,
    subjects: Vec<Subject>,
    hold: Hold,
    /// Whether the observer counts the record as in work.
    is_in_work: bool,
    is_kept: bool,
}

/// The ownership of the record, as far as its owner knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hold {
    Ours,
    /// It is unknown who owns the record, and what its state is.
    InDoubt,
    /// Another process has taken the record over.
    Lost,
}

impl RowRecord {
    pub(crate) fn new(
        link: JournalLink,
        session: Arc<DatabaseSession>,
        claim: i64,
        contents: String,
        subjects: Vec<Subject>,
    ) -> Self {
        let (hold, is_in_work, is_kept) = (Hold::Ours, false, true);
        Self { link, session, claim, contents, subjects, hold, is_in_work, is_kept }
    }

    /// Notes that the record is in the database.
    pub(crate) fn is_begun(&mut self) {
        (self.is_in_work, self.is_kept) = (true, false);
        (self.link.observer.records_in_work)(1);
    }

    fn path(&self) -> &Path {
        self.subjects.first().map_or(Path::new(""), |subject| &subject.path)
    }

    fn fail(&self, error: DatabaseError) -> StoreError {
        failed(Operation::WriteJournal, self.path(), error)
    }

    /// Assigns the record to a session that is alive, whatever happened to its last session. Returns the
    /// record's state. Waits up to [`RESOLVING`] for a session. Afterwards, no statement that was sent
    /// through another session can change the record any more.
    pub(crate) fn adopt(&mut self) -> Result<i16, StoreError> {
        let until = Instant::now() + RESOLVING;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            let session = self.link.database.session(rest).map_err(|error| self.fail(error))?;
            let values = vec![number(self.claim), number(session.key)];
            match self.link.database.query(&session, ADOPT, values) {
                Ok(rows) => {
                    let state = rows.first().and_then(|row| row.try_get(0).ok());
                    self.session = session;
                    return state.ok_or_else(|| self.taken_over());
                }
                Err(error) if error.is_lost() && !rest.is_zero() => {}
                Err(error) => return Err(self.fail(error)),
            }
        }
    }

    /// Gives up the record, because another process has taken it over. This owner must not act on the record
    /// any more.
    fn taken_over(&mut self) -> StoreError {
        self.hold = Hold::Lost;
        let why = "another machine has taken the edit over, since this one was cut off from the database";
        self.fail(DatabaseError::Ended(why.to_owned()))
    }

    /// Changes the state of the record from `from` to `to`. An error means that the state is as before,
    /// unless the record is in doubt or lost.
    fn change(&mut self, [from, to]: [i16; 2], contents: Option<&str>) -> Result<(), StoreError> {
        loop {
            let values = vec![
                number(self.claim),
                number(self.session.key),
                state(from),
                state(to),
                text(contents.map(str::to_owned)),
            ];
            match self.link.database.query(&self.session, CHANGE, values) {
                Ok(rows) if rows.is_empty() => return Err(self.taken_over()),
                Ok(_) => return Ok(()),
                Err(error) if error.is_lost() => {}
                Err(error) => return Err(self.fail(error)),
            }
            match self.adopt() {
                Ok(state) if state == to => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    if self.hold == Hold::Ours {
                        self.hold = Hold::InDoubt;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Sends a statement to the database, and ignores a failure.
    fn tell(&self, statement: &'static str) {
        let values = vec![number(self.claim)];
        if let Err(error) = self.link.database.query(&self.session, statement, values) {
            tracing::debug!(%error, "the record of an edit is left in the database");
        }
    }

    fn end(&mut self, statement: &'static str) {
        if !std::mem::replace(&mut self.is_kept, true) && self.hold != Hold::Lost {
            self.tell(statement);
        }
        if std::mem::take(&mut self.is_in_work) {
            (self.link.observer.records_in_work)(-1);
        }
    }
}

impl Record for RowRecord {
    fn prepared(&mut self, steps: &[Step], _: bool) -> Result<(), StoreError> {
        let whole = (steps.len() == self.subjects.len())
            .then(|| with_steps(self.contents.clone(), steps, &Everywhere(&self.link.roots)));
        let Some(contents) = whole.flatten() else {
            return Err(StoreError::new(Operation::WriteJournal, self.path(), StoreErrorKind::Io));
        };
        self.change([BEGUN, PREPARED], Some(&contents))
    }

    fn committed(&mut self, _: bool) -> Result<(), StoreError> {
        self.change([PREPARED, COMMITTED], None)
    }

    fn prove(&mut self) -> Result<(), StoreError> {
        let values = vec![number(self.claim), number(self.session.key)];
        match self.link.database.query(&self.session, PROVE, values) {
            Ok(rows) if rows.is_empty() => Err(self.taken_over()),
            Ok(_) => Ok(()),
            Err(error) if error.is_lost() => self.adopt().map(drop),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn is_in_doubt(&self) -> bool {
        self.hold != Hold::Ours
    }

    fn take_back(&mut self, _: bool) -> Result<(), StoreError> {
        self.change([COMMITTED, PREPARED], None)
    }

    fn keep(mut self: Box<Self>) {
        self.end(RELEASE);
    }

    // Dropping the record removes it.
    fn remove(self: Box<Self>, _: bool) {}
}

impl Drop for RowRecord {
    fn drop(&mut self) {
        self.end(END);
    }
}

/// Names a file by the name of its root, U+0000, and the path in the root. The name of a file that this
/// machine cannot reach becomes a path that does not exist and is in no root. As a result, the record of such
/// a file is left to other machines.
pub(crate) struct Everywhere<'a>(pub(crate) &'a RootNames);

impl Everywhere<'_> {
    /// Returns a unique key of the file, and the file's name for people; `None` if the file has no shared
    /// name.
    pub(crate) fn key(&self, path: &Path) -> Option<(Vec<u8>, String)> {
        let shared = self.0.shared(path)?;
        Some((Digest::of(&shared.key()?).as_bytes().to_vec(), shared.to_string()))
    }
}

impl Naming for Everywhere<'_> {
    fn name(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.shared(path)?.key()
    }

    fn path(&self, name: Vec<u8>) -> Option<PathBuf> {
        let shared = SharedPath::of_key(&name)?;
        Some(self.0.local(&shared).unwrap_or_else(|| shared.to_string().into()))
    }
}

/// The record is begun; its temporary files can be missing or incomplete.
pub(crate) const BEGUN: i16 = 0;
/// All temporary files are complete.
pub(crate) const PREPARED: i16 = 1;
/// The transaction is committed: recovery completes it.
pub(crate) const COMMITTED: i16 = 2;

/// Adds a record. Values: owner, claim, contents, the process that creates it, the keys of the files, their
/// paths.
pub(crate) const BEGIN: &str = "with made as (
        insert into records (owner, claim, contents, made_by) values ($1, $2, $3, $4) returning id
    ), named as (
        insert into record_files (key, path, record) select file.key, file.path, made.id
            from made, unnest($5, $6) as file (key, path)
    )
    select id from made";

/// Changes the state of a record. Values: claim, owner, the old state, the new state, contents. Repeating the
/// statement changes nothing.
pub(crate) const CHANGE: &str = "update records set state = $4, contents = coalesce($5, contents)
    where claim = $1 and owner = $2 and state in ($3, $4) returning id";

/// Selects a record if this owner still has it. Values: claim, owner.
pub(crate) const PROVE: &str = "select id from records where claim = $1 and owner = $2";

/// Assigns a record to another session of its owner. Values: claim, the key of the new session.
pub(crate) const ADOPT: &str = "update records set owner = $2 where claim = $1 returning state";

/// Deletes a record. Values: claim.
pub(crate) const END: &str = "delete from records where claim = $1";

/// Releases a record. Afterwards, any process may take it over. Values: claim.
pub(crate) const RELEASE: &str = "update records set owner = 0 where claim = $1";

/// Takes an abandoned record over. Values: its claim, the new claim, the key of the new session.
pub(crate) const TAKE_OVER: &str = concat!(
    "update records r set claim = $2, owner = $3, epoch = epoch + 1 where r.claim = $1 and ",
    is_free!(),
    " returning r.epoch, r.state, r.contents"
);

/// Returns all records, and whether each is abandoned; `FoundRow` reads the columns.
pub(crate) const ALL: &str =
    concat!("select r.id, r.claim, r.epoch, r.state, r.contents, ", is_free!(), " from records r");

/// Returns the columns of [`ALL`] for the abandoned records whose files can be partly changed.
pub(crate) const ABANDONED: &str = concat!(
    "select r.id, r.claim, r.epoch, r.state, r.contents, true from records r where r.state > 0 and ",
    is_free!()
);

/// Returns the columns of [`ALL`] for the records that name one of these files. Values: the keys of the
/// files.
pub(crate) const NAMING: &str = concat!(
    "select r.id, r.claim, r.epoch, r.state, r.contents, ",
    is_free!(),
    " from records r where r.id in (select f.record from record_files f where f.key = any($1))"
);

/// Selects a record if it exists. Values: claim.
pub(crate) const IS_THERE: &str = "select id from records where claim = $1";

pub(crate) fn number(number: i64) -> Value {
    (Box::new(number), Type::INT8)
}

pub(crate) fn state(state: i16) -> Value {
    (Box::new(state), Type::INT2)
}

pub(crate) fn text(text: impl Into<Option<String>>) -> Value {
    (Box::new(text.into()), Type::TEXT)
}

pub(crate) fn texts(texts: Vec<String>) -> Value {
    (Box::new(texts), Type::TEXT_ARRAY)
}

pub(crate) fn keys(keys: Vec<Vec<u8>>) -> Value {
    (Box::new(keys), Type::BYTEA_ARRAY)
}
