//! Implements [`Archive`] with an SQLite database.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::history::archive::{Archive, MoveSince};
use crate::history::edit::{EditId, NewEdit, Undo};
use crate::history::embedded::database::HistoryDatabase;
use crate::history::embedded::{lookup, record};
use crate::history::entry::{Entry, Filter, Forgotten};
use crate::history::settings::{NotKept, Settings};

/// Past edits in an SQLite database, which is opened when it is first needed.
#[derive(Debug)]
pub(in crate::history) struct Embedded(HistoryDatabase);

impl Embedded {
    /// Returns the archive in the database at this path; the database need not exist.
    pub(in crate::history) fn new(path: PathBuf) -> Self {
        Self(HistoryDatabase::new(path))
    }
}

impl Archive for Embedded {
    fn prepare(&mut self, wanted: &dyn Fn() -> bool) {
        if !self.0.is_open() && wanted() {
            // An error is ignored: the next write reports it.
            self.0.write(|_| Ok(())).ok();
        }
    }

    fn record(
        &mut self,
        settings: &Settings,
        edits: &[NewEdit<'_>],
        is_only_copy: bool,
    ) -> Result<Vec<(EditId, SystemTime)>, NotKept> {
        record::record(&mut self.0, settings, edits, is_only_copy)
    }

    fn reader(&self) -> Box<dyn Archive> {
        Box::new(Self(self.0.another()))
    }

    fn each(
        &mut self,
        filter: &Filter,
        _: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept> {
        Ok(lookup::each(&mut self.0, filter, each)?)
    }

    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        Ok(lookup::get(&mut self.0, id)?)
    }

    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept> {
        Ok(lookup::root_keys(&mut self.0, id)?)
    }

    fn secret(&mut self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept> {
        Ok(lookup::secret(&mut self.0, fresh)?)
    }

    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept> {
        Ok(lookup::moves_since(&mut self.0, id)?)
    }

    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        Ok(record::forget(&mut self.0, path)?)
    }
}
