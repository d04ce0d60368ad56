//! The journal itself: [`SharedJournal`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::contents::{Subject, first_part};
use crate::journal::interface::{FoundRecord, Journal, JournalOfMachines, Record};
use crate::journal::postgres::found::FoundRow;
use crate::journal::postgres::link::{JournalLink, drawn, failed};
use crate::journal::postgres::naming::Everywhere;
use crate::journal::postgres::record::RowRecord;
use crate::journal::postgres::statements::{self, ABANDONED, ALL, BEGIN, NAMING, Row};
use crate::observer::Observer;
use crate::postgres::database::{Database, Value};
use crate::postgres::error::DatabaseError;
use crate::postgres::report::DatabaseReport;
use crate::root_names::RootNames;

/// The time that an edit waits for a database that does not answer. A read does not wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// The journal in a database.
#[derive(Clone, Debug)]
pub(crate) struct SharedJournal {
    link: JournalLink,
    /// Whether edits go on while the database cannot be reached.
    is_optional: bool,
}

impl SharedJournal {
    pub(crate) fn new(
        database: Database,
        observer: Observer,
        roots: Arc<RootNames>,
        is_optional: bool,
    ) -> Self {
        Self { link: JournalLink { database, observer, roots }, is_optional }
    }

    #[cfg(test)]
    pub(super) fn database(&self) -> &Database {
        &self.link.database
    }

    /// Returns the same journal, after deleting all records.
    #[cfg(test)]
    pub(crate) fn emptied(&self) -> Self {
        let session = self.link.database.session(PATIENCE).unwrap();
        self.link.database.query(&session, "delete from records", Vec::new()).unwrap();
        self.clone()
    }

    /// Tells what is wrong with the database, and what is kept in it.
    pub(crate) fn examine(&self) -> DatabaseReport {
        self.link.database.examine()
    }

    /// Returns the ports to which it connects.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.link.database.ports()
    }

    fn patience(&self) -> Duration {
        if self.is_optional { Duration::ZERO } else { PATIENCE }
    }

    /// Asks for records. If the session ends meanwhile, the statement is repeated, since it only reads.
    fn found(
        &self,
        statement: &'static str,
        values: impl Fn() -> Vec<Value>,
        patience: Duration,
    ) -> Result<Vec<Box<dyn FoundRecord>>, DatabaseError> {
        let ask = || {
            let session = self.link.database.session(patience)?;
            self.link.database.query(&session, statement, values())
        };
        let rows =
            ask().or_else(|error| if error.is_lost() && !patience.is_zero() { ask() } else { Err(error) })?;
        let rows = rows.iter().filter_map(Row::read);
        Ok(rows.map(|row| Box::new(FoundRow::new(self.link.clone(), &row)) as Box<dyn FoundRecord>).collect())
    }
}

impl Journal for SharedJournal {
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError> {
        let first = subjects.first().map_or(Path::new(""), |subject| subject.path.as_path());
        let fail = |error| failed(Operation::WriteJournal, first, error);
        let everywhere = Everywhere(&self.link.roots);
        let keys = subjects.iter().map(|subject| everywhere.key(&subject.path));
        // A file of a call can have several entries.
        let files: Option<BTreeMap<Vec<u8>, String>> = keys.collect();
        let (Some(files), Some(contents)) = (files, first_part(subjects, &everywhere)) else {
            return Err(fail(DatabaseError::Unnamed));
        };
        let (keys, paths): (Vec<Vec<u8>>, Vec<String>) = files.into_iter().unzip();
        let session = self.link.database.session(self.patience()).map_err(fail)?;
        let claim = drawn();
        let values = vec![
            statements::number(session.key),
            statements::number(claim),
            statements::text(contents.clone()),
            statements::text(format!("process {}", std::process::id())),
            statements::keys(keys),
            statements::texts(paths),
        ];
        let begun = self.link.database.query(&session, BEGIN, values);
        let mut record = RowRecord::new(self.link.clone(), session, claim, contents, subjects.to_vec());
        match begun {
            Ok(_) => {
                record.is_begun();
                Ok(Box::new(record))
            }
            // Another record names one of the files, and was not there at the check before.
            Err(error) if error.is_taken() => {
                Err(StoreError::new(Operation::WriteJournal, first, StoreErrorKind::Changed))
            }
            // The statement may have been carried out.
            Err(error) if error.is_lost() => match record.adopt() {
                Ok(_) => {
                    record.is_begun();
                    Ok(Box::new(record))
                }
                // If it was carried out all the same, the record is abandoned, and there is nothing to
                // recover.
                Err(_) => Err(fail(error)),
            },
            Err(error) => Err(fail(error)),
        }
    }

    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        match self.found(ALL, Vec::new, self.patience()) {
            Err(error) if self.is_optional => {
                tracing::warn!(%error, "edits go without a look at what other machines have begun");
                Ok(Vec::new())
            }
            found => {
                found.map_err(|error| failed(Operation::ReadJournal, Path::new("in the database"), error))
            }
        }
    }
}

impl JournalOfMachines for SharedJournal {
    fn is_needed(&self) -> bool {
        !self.is_optional
    }

    fn check(&self) -> Result<(), String> {
        self.link.database.check().map_err(|error| error.to_string())
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let found = self.found(ABANDONED, Vec::new, Duration::ZERO);
        found.map_err(|error| failed(Operation::ReadJournal, Path::new("in the database"), error))
    }

    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let found = match files {
            None => self.found(ALL, Vec::new, Duration::ZERO),
            Some(files) => {
                let everywhere = Everywhere(&self.link.roots);
                let keys = files.iter().filter_map(|path| everywhere.key(path));
                let keys: Vec<Vec<u8>> = keys.map(|(key, _)| key).collect();
                self.found(NAMING, || vec![statements::keys(keys.clone())], Duration::ZERO)
            }
        };
        let first = files.and_then(<[_]>::first).copied().unwrap_or_else(|| Path::new("in the database"));
        found.map_err(|error| failed(Operation::ReadJournal, first, error))
    }
}
