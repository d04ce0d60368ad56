//! The place where past edits are kept, whatever keeps them: [`Archive`].

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

/// A place where past edits are kept. Other processes keep theirs there at the same time.
///
/// Each function waits for a bounded time, and its error changes nothing about any edit. The function of the
/// same name in [`History`](crate::history::History) documents what each promises.
pub trait Archive: fmt::Debug + Send {
    /// Does what the first record would do before it keeps anything, if that takes long and is `wanted`.
    fn prepare(&mut self, _wanted: &dyn Fn() -> bool) {}

    /// Keeps an edit, and drops the oldest ones where the bounds require it. An edit with the only copy of
    /// some bytes is on disk when this returns. Returns the edit's name and time.
    fn record(
        &mut self,
        settings: &Settings,
        edit: &NewEdit<'_>,
        is_only_copy: bool,
    ) -> Result<(EditId, SystemTime), NotKept>;

    /// Returns another archive of the same edits, for one list. Neither waits for the other.
    fn reader(&self) -> Box<dyn Archive>;

    /// Passes the past edits that pass a filter to `each`, the newest first, until it breaks. It is likely to
    /// want `likely` of them.
    fn each(
        &mut self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept>;

    /// Returns one edit, and the undo of each of its files, in order.
    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept>;

    /// Returns the bytes of the keys that were kept with an edit; none if there are none.
    fn root_keys(&mut self, id: &EditId) -> Result<Vec<u8>, NotKept>;

    /// Returns the secret of the archive; keeps `fresh` as such if there is none yet.
    fn secret(&mut self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept>;

    /// Returns the later edits, in their order, that took away the name of a file of this edit, or gave it to
    /// another file.
    fn moves_since(&mut self, id: &EditId) -> Result<Vec<MoveSince>, NotKept>;

    /// Returns the names of directories that machines share; `None` where no other machine shares the
    /// archive.
    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        Ok(None)
    }

    /// Forgets edits.
    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept>;
}
