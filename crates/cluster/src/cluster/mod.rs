//! Keeps the journal and the history of all machines in a shared database: [`Cluster`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_text_editor_store::backend::{
    Archive, FoundRecord, Journal, JournalOfMachines, Record, Subject, first_part,
};
use mcp_text_editor_store::{Observer, Operation, StoreError, StoreErrorKind};

use crate::history::SharedArchive;
use crate::journal::found::FoundRow;
use crate::journal::link::{JournalLink, failed};
use crate::journal::record::{self, ABANDONED, ALL, BEGIN, Everywhere, NAMING, RowRecord};
use crate::postgres::database::{Database, Value, drawn};
use crate::postgres::error::{DatabaseError, DatabaseReport};
use crate::postgres::session::SessionSettings;
use crate::postgres::url::StateUrl;
use crate::root_names::RootNames;

#[cfg(test)]
#[cfg(unix)]
mod tests;

/// The maximum time that an edit waits for a database that does not answer. A read does not wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// The rule for edits while the database cannot be reached.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WithoutDatabase {
    /// Edits wait some seconds for the database to come back, and then are refused.
    #[default]
    Refuse,
    /// Edits are made at once, without a journal, and with a warning.
    GoOn,
}

/// The journal and the history of all machines, in a database, and the names of directories on all machines.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) link: JournalLink,
    pub(crate) without: WithoutDatabase,
}

impl Cluster {
    /// Reads the files that the URL names, and looks up its hosts. Does not connect. The error is meant for
    /// the person who wrote the URL.
    pub fn new(
        url: StateUrl,
        without: WithoutDatabase,
        roots: RootNames,
        observer: Observer,
    ) -> Result<Self, String> {
        let database = Database::new(SessionSettings::new(url)?.into(), observer);
        Ok(Self { link: JournalLink { database, observer, roots: roots.into() }, without })
    }

    /// Reports the problems of the database, and the amounts of data in it. Changes nothing there and creates
    /// no schema. Takes at most some seconds for each host.
    #[must_use]
    pub fn examine(&self) -> DatabaseReport {
        self.link.database.examine()
    }

    /// Returns the names of directories on all machines.
    #[must_use]
    pub fn roots(&self) -> &RootNames {
        &self.link.roots
    }

    fn patience(&self) -> Duration {
        if self.is_needed() { PATIENCE } else { Duration::ZERO }
    }

    /// Reads records. If the session ends meanwhile, repeats the statement once, unless `patience` is zero:
    /// the statement only reads.
    fn records(
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
        let rows = rows.iter().filter_map(|row| FoundRow::read(self.link.clone(), row));
        Ok(rows.map(|row| Box::new(row) as Box<dyn FoundRecord>).collect())
    }
}

impl Journal for Cluster {
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError> {
        let first = subjects.first().map_or(Path::new(""), |subject| subject.path.as_path());
        let fail = |error| failed(Operation::WriteJournal, first, error);
        let everywhere = Everywhere(&self.link.roots);
        let keys = subjects.iter().map(|subject| everywhere.key(&subject.path));
        // Several entries of a call can name the same file.
        let files: Option<BTreeMap<Vec<u8>, String>> = keys.collect();
        let (Some(files), Some(contents)) = (files, first_part(subjects, &everywhere)) else {
            return Err(fail(DatabaseError::Unnamed));
        };
        let (keys, paths): (Vec<Vec<u8>>, Vec<String>) = files.into_iter().unzip();
        let session = self.link.database.session(self.patience()).map_err(fail)?;
        let claim = drawn();
        let values = vec![
            record::number(session.key),
            record::number(claim),
            record::text(contents.clone()),
            record::text(format!("process {}", std::process::id())),
            record::keys(keys),
            record::texts(paths),
        ];
        let begun = self.link.database.query(&session, BEGIN, values);
        let mut record = RowRecord::new(self.link.clone(), session, claim, contents, subjects.to_vec());
        match begun {
            Ok(_) => {
                record.is_begun();
                Ok(Box::new(record))
            }
            // Another record that names one of the files was added after the last check.
            Err(error) if error.is_taken() => {
                Err(StoreError::new(Operation::WriteJournal, first, StoreErrorKind::Changed))
            }
            // It is unknown whether the statement was carried out.
            Err(error) if error.is_lost() => match record.adopt() {
                Ok(_) => {
                    record.is_begun();
                    Ok(Box::new(record))
                }
                // If the statement was carried out nevertheless, the record is abandoned, and there is
                // nothing to recover.
                Err(_) => Err(fail(error)),
            },
            Err(error) => Err(fail(error)),
        }
    }

    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        match self.records(ALL, Vec::new, self.patience()) {
            Err(error) if !self.is_needed() => {
                tracing::warn!(%error, "edits go without a look at what other machines have begun");
                Ok(Vec::new())
            }
            found => {
                found.map_err(|error| failed(Operation::ReadJournal, Path::new("in the database"), error))
            }
        }
    }
}

impl JournalOfMachines for Cluster {
    fn is_needed(&self) -> bool {
        self.without == WithoutDatabase::Refuse
    }

    fn check(&self) -> Result<(), String> {
        self.link.database.check().map_err(|error| error.to_string())
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let records = self.records(ABANDONED, Vec::new, Duration::ZERO);
        records.map_err(|error| failed(Operation::ReadJournal, Path::new("in the database"), error))
    }

    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let found = match files {
            None => self.records(ALL, Vec::new, Duration::ZERO),
            Some(files) => {
                let everywhere = Everywhere(&self.link.roots);
                let keys = files.iter().filter_map(|path| everywhere.key(path));
                let keys: Vec<Vec<u8>> = keys.map(|(key, _)| key).collect();
                self.records(NAMING, || vec![record::keys(keys.clone())], Duration::ZERO)
            }
        };
        let first = files.and_then(<[_]>::first).copied().unwrap_or_else(|| Path::new("in the database"));
        found.map_err(|error| failed(Operation::ReadJournal, first, error))
    }

    fn archive(&self) -> Box<dyn Archive> {
        Box::new(SharedArchive::new(self.link.database.clone(), self.link.roots.clone()))
    }

    fn cache_lifetime(&self, path: &Path) -> Option<Duration> {
        self.link.roots.caches(path).bearable()
    }

    fn prefer(&self, roots: &[PathBuf]) {
        self.link.roots.prefer(roots);
    }

    fn ports(&self) -> Vec<u16> {
        self.link.database.ports()
    }
}
