//! Defines the interface of the stores that keep past edits: [`Archive`].

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
