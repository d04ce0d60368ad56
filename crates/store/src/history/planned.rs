//! Adds planned edits, which are not made yet, to a history: [`Planned`]. So a call can plan several undos
//! that build on each other.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::history::archive::{Archive, MoveSince};
use crate::history::edit::{ChangeKind, EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::filter::Filter;
use crate::history::not_kept::NotKept;
use crate::history::settings::Settings;

/// The edits of another archive, and after them planned edits, which are only in memory. New edits become
/// planned edits, and are not recorded in the other archive.
#[derive(Debug)]
pub(super) struct Planned {
    kept: Box<dyn Archive>,
    edits: Arc<Mutex<Vec<PlannedEdit>>>,
}

/// An edit, and the undo of each of its files.
type PlannedEdit = (Entry, Vec<Undo>);

impl Planned {
    pub(super) fn new(kept: Box<dyn Archive>) -> Self {
        Self { kept, edits: Arc::default() }
    }

    fn edits(&self) -> MutexGuard<'_, Vec<PlannedEdit>> {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&mut self, edit: &NewEdit<'_>) -> Result<(EditId, SystemTime), NotKept> {
        let undone = edit.undoes.map(|id| self.get(id)).transpose()?.flatten();
        let mut edits = self.edits();
        let (id, time) = (EditId::planned(edits.len()), SystemTime::UNIX_EPOCH);
        let undos = edit.files.iter().map(|file| file.undo.clone()).collect();
        let undone = undone.as_ref().map(|(undone, _)| undone);
        let entry = Entry::new(edit.clone(), (id.clone(), time), undone);
        edits.push((entry, undos));
        Ok((id, time))
    }
}

impl Archive for Planned {
    fn record(
        &mut self,
        _: &Settings,
        edits: &[NewEdit<'_>],
        _: bool,
    ) -> Result<Vec<(EditId, SystemTime)>, NotKept> {
        edits.iter().map(|edit| self.plan(edit)).collect()
    }

    fn reader(&self) -> Box<dyn Archive> {
        Box::new(Self { kept: self.kept.reader(), edits: Arc::clone(&self.edits) })
    }

    // The filter's path is the only condition that applies to planned edits.
    fn each(
        &mut self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept> {
        let passes = |entry: &Entry| {
            filter.path.as_ref().is_none_or(|path| entry.files.iter().any(|file| file.path.starts_with(path)))
        };
        let planned: Vec<Entry> = self
            .edits()
            .iter()
            .rev()
            .map(|(entry, _)| entry)
            .filter(|entry| passes(entry))
            .cloned()
            .collect();
        for entry in planned {
            if each(entry).is_break() {
                return Ok(());
            }
        }
        self.kept.each(filter, likely, each)
    }

    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        let planned = self.edits().iter().find(|(entry, _)| entry.id == *id).cloned();
        if planned.is_some() { Ok(planned) } else { self.kept.get(id) }
    }

    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept> {
        self.kept.root_keys(id)
    }

    fn secret(&mut self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept> {
        self.kept.secret(fresh)
    }

    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept> {
        let mut moves = self.kept.moves_since(id)?;
        let Some((edit, _)) = self.get(id)? else { return Ok(moves) };
        for (later, _) in self.edits().iter() {
            let is_move = |kind| matches!(kind, ChangeKind::Created | ChangeKind::Removed);
            let rows = later.files.iter().filter(|file| is_move(file.kind));
            let paths: HashSet<&Path> = rows.map(|file| &*file.path).collect();
            for (index, file) in (0..).zip(&edit.files) {
                if file.after.is_some() && paths.contains(&*file.path) {
                    moves.push((index, later.id.clone(), later.undoes.clone()));
                }
            }
        }
        moves.sort_by_key(|(file, ..)| *file);
        Ok(moves)
    }

    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        self.kept.forget(path)
    }
}
