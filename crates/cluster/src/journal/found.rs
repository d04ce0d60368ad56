//! A record that was found in the database: [`FoundRow`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_store::backend::{Contents, FoundRecord};
use mcp_text_editor_store::{Operation, StoreError};

use crate::journal::link::{JournalLink, failed};
use crate::journal::record::{self, COMMITTED, END, Everywhere, IS_THERE, PROVE, RELEASE, TAKE_OVER};
use crate::postgres::database::{BOUND, DatabaseSession, drawn};
use crate::postgres::error::DatabaseError;

/// A record in the database that another process may own. If this process has taken the record over and not
/// removed it, dropping this value releases the record.
#[derive(Debug)]
pub(crate) struct FoundRow {
    link: JournalLink,
    path: PathBuf,
    claim: i64,
    epoch: u32,
    contents: Contents,
    is_abandoned: bool,
    /// The session through which this process has taken the record over; `None` before the takeover, and
    /// after the removal of the record.
    taken: Option<Arc<DatabaseSession>>,
}

/// Returns the contents of a row, with the names that the record's temporary files have in this epoch (the
/// number of takeovers).
fn contents_of(link: &JournalLink, text: &str, state: i16, epoch: u32) -> Contents {
    let mut contents = Contents::read(text.as_bytes(), &Everywhere(&link.roots));
    contents.committed = state == COMMITTED;
    for subject in &mut contents.subjects {
        subject.id = subject.id.at_epoch(epoch);
    }
    contents
}

impl FoundRow {
    /// Reads a row of [`ALL`](record::ALL); `None` if it has other columns.
    pub(crate) fn read(link: JournalLink, row: &tokio_postgres::Row) -> Option<Self> {
        let epoch = u32::try_from(row.try_get::<_, i32>(2).ok()?).unwrap_or_default();
        let contents = contents_of(&link, row.try_get(4).ok()?, row.try_get(3).ok()?, epoch);
        let path = PathBuf::from(format!("record {} of the database", row.try_get::<_, i64>(0).ok()?));
        let (claim, is_abandoned) = (row.try_get(1).ok()?, row.try_get(5).ok()?);
        Some(Self { link, path, claim, epoch, contents, is_abandoned, taken: None })
    }

    fn tell(&self, statement: &'static str) -> bool {
        let database = &self.link.database;
        let told = database
            .session(BOUND)
            .and_then(|session| database.query(&session, statement, vec![record::number(self.claim)]));
        told.inspect_err(|error| tracing::debug!(%error, "a record is left in the database")).is_ok()
    }
}

impl FoundRecord for FoundRow {
    fn path(&self) -> &Path {
        &self.path
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    fn is_there(&self) -> bool {
        let database = &self.link.database;
        let found = database
            .session(BOUND)
            .and_then(|session| database.query(&session, IS_THERE, vec![record::number(self.claim)]));
        // If the database does not answer, the record may still exist.
        !found.is_ok_and(|rows| rows.is_empty())
    }

    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn take_over(&mut self) -> Result<bool, StoreError> {
        let database = &self.link.database;
        let claim = drawn();
        let taken = database.session(BOUND).and_then(|session| {
            let values = [self.claim, claim, session.key].map(record::number).into();
            Ok((database.query(&session, TAKE_OVER, values)?, session))
        });
        // If the answer was lost, the record is abandoned again once this session has ended.
        let (rows, session) = taken.map_err(|error| failed(Operation::Recover, &self.path, error))?;
        let Some(row) = rows.first() else { return Ok(false) };
        let read = || -> Result<(i32, i16, String), tokio_postgres::Error> {
            Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
        };
        let Ok((epoch, state, text)) = read() else { return Ok(false) };
        (self.claim, self.taken) = (claim, Some(session));
        self.epoch = u32::try_from(epoch).unwrap_or_default();
        self.contents = contents_of(&self.link, &text, state, self.epoch);
        Ok(true)
    }

    fn prove(&self) -> Result<(), StoreError> {
        let lost = || {
            let why =
                "another machine has taken its recovery over, since this one was cut off from the database";
            failed(Operation::Recover, &self.path, DatabaseError::Ended(why.to_owned()))
        };
        let session = self.taken.as_ref().ok_or_else(lost)?;
        let values = [self.claim, session.key].map(record::number).into();
        let rows = self.link.database.query(session, PROVE, values);
        let rows = rows.map_err(|error| failed(Operation::Recover, &self.path, error))?;
        if rows.is_empty() { Err(lost()) } else { Ok(()) }
    }

    fn remove(mut self: Box<Self>, _: bool) -> bool {
        self.taken = None;
        self.tell(END)
    }
}

impl Drop for FoundRow {
    fn drop(&mut self) {
        if self.taken.is_some() {
            self.tell(RELEASE);
        }
    }
}
