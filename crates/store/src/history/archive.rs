//! The place where past edits are kept, whatever keeps them: [`Archive`].

use std::fmt;
use std::path::Path;

use mcp_text_editor_core::digest::Digest;

use crate::history::edit::{EditId, NewEdit, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::filter::Filter;
use crate::history::known_root::KnownRoot;
use crate::history::not_kept::NotKept;
use crate::history::settings::Settings;

/// The fate of a file in an edit, as far as the next one has to do with it.
#[cfg(any(feature = "history", feature = "postgres"))]
#[derive(Clone, Copy, Debug)]
pub(super) struct FileFate {
    /// The edit's number; numbers are in the order of edits.
    pub(super) edit: i64,
    /// The digest that the file had.
    pub(super) before: Option<Digest>,
    /// The digest that it got.
    pub(super) after: Option<Digest>,
}

/// Returns which edit of a file is in the way of undoing the first of a chain, while the file is what it is
/// now.
#[cfg(any(feature = "history", feature = "postgres"))]
pub(super) fn in_the_way(chain: Vec<FileFate>, first: i64, now: Option<Digest>) -> Option<i64> {
    let (this, later): (Vec<_>, Vec<_>) = chain.into_iter().partition(|link| link.edit == first);
    let left = this.first().and_then(|link| link.after);
    let newest = later.last().filter(|link| link.after == now);
    newest.or(later.first().filter(|link| link.before == left)).map(|link| link.edit)
}

/// A place where past edits are kept. Other processes keep theirs there at the same time.
///
/// Each function waits for a bounded time, and an error of it changes nothing about any edit. What each
/// promises is said at the function of [`History`](crate::history::History) with its name.
pub(super) trait Archive: fmt::Debug + Send {
    /// Keeps an edit, and drops the oldest where the bounds require it. One that has the only copy of some
    /// bytes is on disk when this returns.
    fn record(
        &mut self,
        settings: &Settings,
        edit: &NewEdit<'_>,
        is_only_copy: bool,
    ) -> Result<EditId, NotKept>;

    /// Returns the past edits that pass a filter, the newest first.
    fn find(
        &mut self,
        filter: &Filter,
        limit: usize,
        wanted: &dyn Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, NotKept>;

    /// Returns one edit, and what turns its files back, in their order.
    fn get(&mut self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept>;

    /// Returns the edit that is in the way of undoing this one.
    fn later(&mut self, id: &EditId, path: &Path, now: Option<Digest>) -> Result<Option<Entry>, NotKept>;

    /// Returns the names of directories that machines share; `None` where no other machine shares the
    /// archive.
    fn roots(&mut self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        Ok(None)
    }

    /// Forgets edits.
    fn forget(&mut self, path: Option<&Path>) -> Result<Forgotten, NotKept>;
}
