//! The database as an [`Archive`]. Its edits are returned with the paths of this machine.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;

use crate::history::archive::{Archive, MoveSince, in_the_way};
use crate::history::edit::{EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::filter::Filter;
use crate::history::known_root::KnownRoot;
use crate::history::not_kept::NotKept;
use crate::history::postgres::conditions::{Conditions, places};
use crate::history::postgres::read::of_database;
use crate::history::postgres::{read, write};
use crate::history::settings::Settings;
use crate::postgres::database::Database;
use crate::root_names::RootNames;

/// The number of edits that are asked for at once: each comes with its diffs.
const PAGE: usize = 32;

/// Past edits in a database that several machines share. Edits have the order in which the database took
/// them, and its time. The clocks of the machines do not count.
#[derive(Debug)]
pub(in crate::history) struct SharedArchive {
    database: Database,
    names: Arc<RootNames>,
    bounds: write::Bounds,
}

impl SharedArchive {
    /// Returns the history in this database. It does not ask the database for anything yet.
    pub(in crate::history) fn new(database: Database, names: Arc<RootNames>) -> Self {
        Self { database, names, bounds: write::Bounds::default() }
    }

    /// Returns one edit, by its number or its id, with its files.
    fn one(&self, conditions: Conditions) -> Result<Option<read::EditRow>, NotKept> {
        let found = self.database.run(move |client| Box::pin(read::page(client, conditions, 1, true)));
        Ok(found.map_err(|error| of_database(&error))?.pop())
    }
}

impl Archive for SharedArchive {
    fn record(
        &mut self,
        settings: &Settings,
        edit: &NewEdit<'_>,
        _: bool,
    ) -> Result<(EditId, SystemTime), NotKept> {
        // The database syncs all that it acknowledges, unless it is configured otherwise.
        let (id, time, bytes) = write::record(&self.database, &self.names, settings, edit)?;
        self.bounds.hold(&self.database, settings, bytes);
        Ok((id, time))
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
            let page = self.database.run(move |client| Box::pin(read::page(client, conditions, size, false)));
            let page = page.map_err(|error| of_database(&error))?;
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
        let id = id.0.clone();
        let keys = self.database.run(move |client| Box::pin(read::root_keys(client, id)));
        keys.map_err(|error| of_database(&error))
    }

    fn secret(&mut self, _: &[u8; 32]) -> Result<Vec<u8>, NotKept> {
        // The migration has drawn it.
        let secret = self.database.run(|client| Box::pin(read::secret(client)));
        secret.map_err(|error| of_database(&error))
    }

    fn later(&mut self, id: &EditId, path: &Path, now: Option<Digest>) -> Result<Option<Entry>, NotKept> {
        let Some(shared) = self.names.shared(path) else { return Ok(None) };
        let Some(number) = self.one(Conditions::of_id(id))?.map(|found| found.number) else {
            return Ok(None);
        };
        let chain = self.database.run(move |client| Box::pin(read::chain(client, shared, number)));
        let Some(later) = in_the_way(chain.map_err(|error| of_database(&error))?, number, now) else {
            return Ok(None);
        };
        let found = self.one(Conditions::of_number(later))?;
        found.map(|found| found.here(&self.names).map(|(entry, _)| entry)).transpose()
    }

    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept> {
        let id = id.0.clone();
        let found = self.database.run(move |client| Box::pin(read::moves_since(client, id)));
        found.map_err(|error| of_database(&error))
    }

    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        let rows = self.database.run(|client| Box::pin(read::roots(client)));
        let rows = rows.map_err(|error| of_database(&error))?;
        Ok(Some(rows.iter().filter_map(|row| read::known_root(row, &self.names)).collect()))
    }

    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        let places = path.map(|path| places(&self.names, path));
        let edits = self.database.run(move |client| Box::pin(write::forget(client, places)));
        let (edits, remains) = edits.map_err(|error| of_database(&error))?;
        Ok(Forgotten { edits: Some(edits), remains })
    }
}
