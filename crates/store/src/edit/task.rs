//! Defines the work on one file of a call ([`Task`]), and its result ([`Prepared`]).

use std::sync::Arc;
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;

use crate::commit::staged::{Arrival, Departure, Staged};
use crate::commit::transaction::Transaction;
use crate::edit::group::{Group, MoveMethod};
use crate::edit::outcome::Edited;
use crate::edit::request::EditOptions;
use crate::error::StoreError;
use crate::history::{EditedFile, NotKept};
use crate::lock::LockedFile;
use crate::read::document::Content;
use crate::workspace::Workspace;

/// One file of a call, after its preparation.
pub(super) struct Prepared {
    pub(super) edited: Edited,
    /// The change that is ready to be committed, and the file's rows for the history, or the reason why the
    /// history keeps none. `None` if the file does not change.
    pub(super) staged: Option<(Staged, Result<Vec<EditedFile>, NotKept>)>,
}

impl Prepared {
    /// Returns the result for a file that is not written.
    pub(super) fn told(edited: Edited) -> Self {
        Self { edited, staged: None }
    }
}

/// The work on one file of a call.
pub(super) struct Task<'t, 'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) group: &'t Group<'t>,
    pub(super) options: EditOptions<'t>,
    pub(super) staging: &'t mut Staging<'w>,
    /// All files of the call.
    pub(super) groups: &'t [Group<'t>],
    /// Whether the call is allowed to write, because no problem was found so far.
    pub(super) may_write: bool,
}

impl Task<'_, '_> {
    /// Tells whether anything is to be written. If so, begins the transaction with its journal record, unless
    /// an earlier file has begun it. Fails only if the transaction cannot begin.
    pub(super) fn begin(&mut self) -> Result<bool, StoreError> {
        let writes = self.may_write && !self.options.dry_run;
        if writes && self.staging.transaction.is_none() {
            self.workspace.history.prepare(&self.group.first.place);
            let subjects = self.groups.iter().flat_map(Group::subjects).collect();
            self.staging.transaction = Some(Transaction::begin(self.workspace, subjects)?);
        }
        Ok(writes)
    }

    /// Returns the staged change that gives the file the name of `to` or, if `to` is `None`, removes it.
    pub(super) fn depart(
        &self,
        locked: &Arc<LockedFile>,
        (digest, began): (Digest, SystemTime),
        to: Option<Arrival>,
    ) -> Staged {
        let Group { first, id, is_followed, .. } = self.group;
        let is_linked = first.method == MoveMethod::Linked && matches!(to, Some(Arrival::Same { .. }));
        let from = Departure {
            place: first.place.clone(),
            id: *id,
            locked: locked.clone(),
            digest,
            is_settled: locked.file().identity().has_settled_content(began),
            directories: first.edit.directories.to_vec(),
            goes_first: *is_followed || is_linked,
        };
        Staged::Named { from: Some(from), to }
    }

    /// Tells whether the history has room for this many more bytes of the call. If so, counts them as used.
    pub(super) fn keeps(&mut self, bytes: u64) -> bool {
        let rest = self.staging.room.checked_sub(bytes);
        self.staging.room = rest.unwrap_or(self.staging.room);
        rest.is_some()
    }
}

/// The files of a call that are being prepared.
pub(super) struct Staging<'w> {
    pub(super) prepared: Vec<Prepared>,
    /// The transaction, which begins when the first file is to be written.
    pub(super) transaction: Option<Transaction<'w>>,
    /// The number of further bytes of the call for which the history has room.
    room: u64,
    /// The number of further bytes of old content that may be kept in memory until the commit.
    memory: usize,
}

/// The maximum number of bytes of old content, of all files together, that are kept in memory until the
/// commit.
const MEMORY: usize = 64 << 20;

impl Staging<'_> {
    pub(super) fn new(workspace: &Workspace) -> Self {
        Self { prepared: Vec::new(), transaction: None, room: workspace.max_kept_bytes, memory: MEMORY }
    }

    /// Returns the content with which the file is compared at the commit: its bytes if `MEMORY` allows,
    /// otherwise only its digest.
    pub(super) fn bounded(&mut self, content: Content) -> Content {
        let Content::Bytes(bytes) = content else { return content };
        match self.memory.checked_sub(bytes.len()) {
            Some(rest) => {
                self.memory = rest;
                Content::Bytes(bytes)
            }
            None => Content::Digest(Digest::of(&bytes)),
        }
    }

    /// Returns the number of places that pattern replacements have replaced in the files that are prepared so
    /// far.
    pub(super) fn replaced(&self) -> u64 {
        self.prepared.iter().map(|prepared| prepared.edited.replaced).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::World;

    #[test]
    fn old_content_beyond_a_bound_is_a_digest() {
        let world = World::new();
        let mut staging = Staging::new(&world.workspace);
        staging.memory = 5;
        let kept = ["abc", "def", "gh", ""].map(|text| {
            matches!(staging.bounded(Content::Bytes(text.as_bytes().to_vec())), Content::Bytes(_))
        });
        assert_eq!((kept, staging.memory), ([true, false, true, true], 0));
        let digest = Digest::of(b"i");
        assert!(
            matches!(staging.bounded(Content::Bytes(b"i".to_vec())), Content::Digest(of) if of == digest)
        );
    }
}
