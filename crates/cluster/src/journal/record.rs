//! The record of a transaction under way, as a row: [`RowRecord`].

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_text_editor_store::backend::{Record, Step, Subject, with_steps};
use mcp_text_editor_store::{Operation, StoreError, StoreErrorKind};

use crate::journal::link::{JournalLink, failed};
use crate::journal::naming::Everywhere;
use crate::journal::statements::{self, ADOPT, BEGUN, CHANGE, COMMITTED, END, PREPARED, PROVE, RELEASE};
use crate::postgres::database::DatabaseSession;
use crate::postgres::error::DatabaseError;

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
            let values = vec![statements::number(self.claim), statements::number(session.key)];
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
                statements::number(self.claim),
                statements::number(self.session.key),
                statements::state(from),
                statements::state(to),
                statements::text(contents.map(str::to_owned)),
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
        let values = vec![statements::number(self.claim)];
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
        let values = vec![statements::number(self.claim), statements::number(self.session.key)];
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
