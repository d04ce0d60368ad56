//! Defines the interface of the stores that keep past edits: [`Archive`].
//!
//! Adds planned edits, which are not made yet, to a history: [`Planned`]. So a call can plan several undos
//! that build on each other.

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::history::edit::{ChangeKind, EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Filter, Forgotten, KnownRoot};
use crate::history::settings::{NotKept, Settings};

/// The index of a file in an edit; a later edit that took away the file's name, or gave it to another file;
/// and the edit that the later edit undoes, or `None` if it undoes none.
pub type MoveSince = (i64, EditId, Option<EditId>);

/// A store that keeps past edits. Several processes may use it at the same time.
///
/// Each function waits for a bounded time. An error of these functions never makes an edit fail.
/// [`History`](crate::history::History) has functions of the same names, which document the details.
pub trait Archive: fmt::Debug + Send {
    /// Does the slow preparations of the first [`Archive::record`] in advance, if there are any. Skips them
    /// if `wanted` returns `false`.
    fn prepare(&mut self, _wanted: &dyn Fn() -> bool) {}

    /// Keeps edits, all or none, in this order, and drops the oldest edits if the bounds require it. With
    /// `is_only_copy`, no other copy of the edits' bytes exists, so the edits are on disk when this function
    /// returns. Returns the id and the time of each edit.
    fn record(
        &mut self,
        settings: &Settings,
        edits: &[NewEdit<'_>],
        is_only_copy: bool,
    ) -> Result<Vec<(EditId, SystemTime)>, NotKept>;

    /// Returns a separate reader of the same edits, for one listing. The reader and this archive do not wait
    /// for each other.
    fn reader(&self) -> Box<dyn Archive>;

    /// Calls `each` with the past edits that pass a filter, the newest first, until `each` breaks. `likely`
    /// is the number of edits after which `each` probably breaks.
    fn each(
        &mut self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept>;

    /// Returns one edit, and the undo of each of its files, in the order of the files; `None` if the edit is
    /// not kept.
    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept>;

    /// Returns the concatenated keys of the roots of an edit's files, 16 bytes for each file; empty if none
    /// were kept.
    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept>;

    /// Returns the secret of the archive; keeps `fresh` as the secret if there is none yet.
    fn secret(&mut self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept>;

    /// Returns the edits after this one that took away the name of one of its files, or gave that name to
    /// another file. They are sorted by the file's index; for each file, the oldest edit is first.
    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept>;

    /// Returns the directories that several machines share, with their names; `None` if only this machine
    /// uses the archive.
    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        Ok(None)
    }

    /// Deletes all past edits or, with a path, the edits of a file or of files below a directory.
    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept>;
}

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
