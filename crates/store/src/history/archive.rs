//! The interface of a place where past edits are kept: [`Archive`].

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use crate::history::edit::{EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::filter::Filter;
use crate::history::known_root::KnownRoot;
use crate::history::not_kept::NotKept;
use crate::history::settings::Settings;

/// The index of a file in an edit, a later edit that took or gave its name, and the edit that the later one
/// undoes.
pub type MoveSince = (i64, EditId, Option<EditId>);

/// A place where past edits are kept. Several processes may use it at the same time.
///
/// Each function waits for a bounded time, and its error does not affect any edit. The function of the same
/// name in [`History`](crate::history::History) documents the details.
pub trait Archive: fmt::Debug + Send {
    /// Does the slow preparations of the first [`Archive::record`] in advance, if there are any and `wanted`
    /// returns `true`.
    fn prepare(&mut self, _wanted: &dyn Fn() -> bool) {}

    /// Keeps an edit, and drops the oldest edits if the bounds require it. With `is_only_copy`, the edit is
    /// on disk when this returns, since no other copy of its bytes exists. Returns the edit's id and time.
    fn record(
        &mut self,
        settings: &Settings,
        edit: &NewEdit<'_>,
        is_only_copy: bool,
    ) -> Result<(EditId, SystemTime), NotKept>;

    /// Returns another reader of the same edits, for one listing. Neither waits for the other.
    fn reader(&self) -> Box<dyn Archive>;

    /// Calls `each` with the past edits that pass a filter, the newest first, until `each` breaks. It will
    /// probably take `likely` edits.
    fn each(
        &mut self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept>;

    /// Returns one edit, and the undo of each of its files, in the order of the files.
    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept>;

    /// Returns the bytes of the root keys that were kept with an edit; empty if none were kept.
    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept>;

    /// Returns the secret of the archive; keeps `fresh` as the secret if there is none yet.
    fn secret(&mut self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept>;

    /// Returns the later edits, in their order, that took away the name of a file of this edit, or gave it to
    /// another file.
    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept>;

    /// Returns the directories that machines share, with their names; `None` if no other machine shares the
    /// archive.
    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        Ok(None)
    }

    /// Deletes past edits.
    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept>;
}
