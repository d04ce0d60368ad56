//! Implements [`Archive`] for the database. Edits are returned with the paths of this machine.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_text_editor_store::backend::{Archive, MoveSince, NewEdit};
use mcp_text_editor_store::{
    EditFilter as Filter, EditId, Entry, Forgotten, HistorySettings as Settings, KnownRoot, NotKept, Undo,
};
use tokio_postgres::Client;

use crate::history::read::{Conditions, of_database, places};
use crate::history::{read, write};
use crate::postgres::database::{Database, Work};
use crate::root_names::RootNames;

/// The maximum number of edits that are read at once, since each comes with its diffs.
const PAGE: usize = 32;

/// Past edits in a database that several machines share. They are in the order in which the database received
/// them, and their times are from its clock. The machines' clocks are not used.
#[derive(Debug)]
pub(crate) struct SharedArchive {
    database: Database,
    names: Arc<RootNames>,
    bounds: write::Bounds,
}

impl SharedArchive {
    /// Returns the archive in this database, without querying the database.
    pub(crate) fn new(database: Database, names: Arc<RootNames>) -> Self {
        Self { database, names, bounds: write::Bounds::default() }
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Client) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, NotKept> {
        self.database.run(work).map_err(|error| of_database(&error))
    }

    /// Returns the newest edit that meets the conditions, with its files and their undo data.
    fn one(&self, conditions: Conditions) -> Result<Option<read::EditRow>, NotKept> {
        Ok(self.run(move |client| Box::pin(read::page(client, conditions, 1, true)))?.pop())
    }
}

impl Archive for SharedArchive {
    fn record(
        &mut self,
        settings: &Settings,
        edits: &[NewEdit<'_>],
        _: bool,
    ) -> Result<Vec<(EditId, SystemTime)>, NotKept> {
        // The database syncs everything that it acknowledges, unless it is configured otherwise.
        let (recorded, bytes) = write::record(&self.database, &self.names, settings, edits)?;
        self.bounds.hold(&self.database, settings, bytes);
        Ok(recorded)
    }

    fn reader(&self) -> Box<dyn Archive> {
        Box::new(Self::new(self.database.clone(), Arc::clone(&self.names)))
    }

    fn each(
        &mut self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept> {
        let conditions = Conditions::of(filter, &self.names);
        let (size, mut before) = (likely.clamp(1, PAGE), None);
        loop {
            let mut conditions = conditions.clone();
            if let Some(before) = before {
                conditions.before_number(before);
            }
            let page = self.run(move |client| Box::pin(read::page(client, conditions, size, false)))?;
            let is_last = page.len() < size;
            for found in page {
                before = Some(found.number);
                if each(found.here(&self.names)?.0).is_break() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        self.one(Conditions::of_id(id))?.map(|found| found.here(&self.names)).transpose()
    }

    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept> {
        let id = id.to_string();
        self.run(move |client| Box::pin(read::root_keys(client, id)))
    }

    fn secret(&mut self, _: &[u8; 32]) -> Result<Vec<u8>, NotKept> {
        // The migration has drawn the secret.
        self.run(|client| Box::pin(read::secret(client)))
    }

    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept> {
        let id = id.to_string();
        self.run(move |client| Box::pin(read::moves_since(client, id)))
    }

    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        let rows = self.run(|client| Box::pin(read::roots(client)))?;
        Ok(Some(rows.iter().filter_map(|row| read::known_root(row, &self.names)).collect()))
    }

    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        let places = path.map(|path| places(&self.names, path));
        let (edits, remains) = self.run(move |client| Box::pin(write::forget(client, places)))?;
        Ok(Forgotten { edits: Some(edits), remains })
    }
}
