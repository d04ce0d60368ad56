//! The place where past edits are kept, whatever keeps them: [`Archive`].

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;

use crate::history::edit::{EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::filter::Filter;
use crate::history::known_root::KnownRoot;
use crate::history::not_kept::NotKept;
use crate::history::settings::Settings;

/// The change of a file in one edit, as far as the next edit depends on it.
#[derive(Clone, Copy, Debug)]
pub struct FileFate {
    /// The edit's number; numbers are in the order of edits.
    pub edit: i64,
    /// The digest that the file had.
    pub before: Option<Digest>,
    /// The digest that it got.
    pub after: Option<Digest>,
}

/// Returns the edit of a file that is in the way of undoing the edit `first`, while the file has the digest
/// `now`. The chain has this edit, and at least the first and the last of the later edits of the file.
#[must_use]
pub fn in_the_way(mut chain: Vec<FileFate>, first: i64, now: Option<Digest>) -> Option<i64> {
    // An edit that moves one file away and another one here has a row for each.
    chain.dedup_by(|next, link| {
        let is_same = next.edit == link.edit;
        if is_same {
            (link.before, link.after) = (link.before.or(next.before), next.after.or(link.after));
        }
        is_same
    });
    let (this, later): (Vec<_>, Vec<_>) = chain.into_iter().partition(|link| link.edit == first);
    let left = this.first().and_then(|link| link.after);
    let newest = later.last().filter(|link| link.after == now);
    newest.or(later.first().filter(|link| link.before == left)).map(|link| link.edit)
}

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

    /// Returns the edit that is in the way of undoing this one.
    fn later(&mut self, id: &EditId, path: &Path, now: Option<Digest>) -> Result<Option<Entry>, NotKept>;

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
