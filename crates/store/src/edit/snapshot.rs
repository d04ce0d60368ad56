//! Defines the files and the history as an undo finds them: [`Snapshot`]. Reads bytes that derive from them.
//!
//! Defines the work on one file of a call ([`Task`]), and its result ([`Prepared`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::source::{Source, read_range};
use mcp_text_editor_core::splice::{SpliceSet, Spliced};

use crate::cancellation::Cancellation;
use crate::commit::staged::{Arrival, Departure, Staged};
use crate::commit::transaction::Transaction;
use crate::edit::group::{Group, MoveMethod};
use crate::edit::outcome::Edited;
use crate::edit::request::EditOptions;
use crate::error::{ReadFault, StoreError};
use crate::history::{EditId, EditedFile, History, NotKept, Undo};
use crate::lock::LockedFile;
use crate::read::document::{Content, Document, read};
use crate::workspace::Workspace;

/// The maximum size in bytes of a reconstructed state. There is a maximum because each state is read
/// completely.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The files and the history as an undo finds them: as they are now or, while several undos are planned, as
/// they will be once the undos planned so far are made.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) history: &'a History,
    /// The paths that the planned undos change; `None` if none is planned.
    pub(super) planned: Option<&'a PlannedFiles>,
}

impl<'a> Snapshot<'a> {
    /// Returns the present files and history.
    pub(crate) fn of(workspace: &'a Workspace) -> Self {
        Self { workspace, history: &workspace.history, planned: None }
    }
}

/// For each path that planned undos change, the file that the path will have; `None` if it will have none.
pub(super) type PlannedFiles = BTreeMap<PathBuf, Option<PlannedFile>>;

/// A file once the planned undos are made.
#[derive(Clone, Debug)]
pub(super) struct PlannedFile {
    /// Its bytes, which derive from the files of the disk.
    pub(super) state: FileState,
    pub(super) digest: Digest,
    pub(super) encoding: Encoding,
}

/// A state of a file: the bytes that result if `splices` are applied to `base`.
#[derive(Clone, Debug)]
pub(crate) struct FileState {
    pub(crate) base: Base,
    pub(crate) splices: SpliceSet,
}

/// Bytes that exist now, from which a state is reconstructed.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// The present bytes of a file.
    File(PathBuf),
    /// The bytes of a file that an edit removed, which the history keeps: the edit's id, and the index of the
    /// file in the edit.
    Removed(EditId, usize),
}

impl FileState {
    /// Returns the state before the edit that left this state; `undo` are the edit's undo splices.
    pub(crate) fn back(&self, undo: &SpliceSet) -> Self {
        Self { base: self.base.clone(), splices: self.splices.then(undo) }
    }
}

pub(super) fn undo_of(snapshot: Snapshot<'_>, id: &EditId, row: usize) -> Result<Option<Undo>, NotKept> {
    let found = snapshot.history.get(id)?;
    Ok(found.and_then(|(_, undos)| undos.into_iter().nth(row)))
}

/// Bytes that are kept in the history.
struct Kept(Vec<u8>);

impl Source for Kept {
    type Error = ReadFault;

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadFault> {
        Ok(self.0.as_slice().read_at(offset, buffer).unwrap_or_else(|never| match never {}))
    }
}

/// A computation on the bytes of a file.
pub(crate) type Computation<'a, T> =
    &'a mut dyn FnMut(&dyn Source<Error = ReadFault>) -> Result<Option<T>, ReadFault>;

/// Calls `work` with the bytes of a base; returns `None` if they cannot be read.
pub(crate) fn with_base<T>(
    snapshot: Snapshot<'_>,
    base: &Base,
    work: Computation<'_, T>,
) -> Result<Option<T>, NotKept> {
    match base {
        Base::Removed(id, row) => match undo_of(snapshot, id, *row)? {
            Some(Undo::Create { contents }) => Ok(work(&Kept(contents)).ok().flatten()),
            _ => Ok(None),
        },
        Base::File(path) => match snapshot.planned.and_then(|planned| planned.get(path)) {
            None => {
                let Ok(place) = snapshot.workspace.roots.place(path) else { return Ok(None) };
                let work = |document: &Document<'_>| work(document);
                let done = read(&snapshot.workspace.scan_cache, &place, None, Cancellation::none(), work);
                Ok(done.ok().flatten())
            }
            Some(None) => Ok(None),
            Some(Some(file)) => with_state(snapshot, &file.state, work),
        },
    }
}

/// Calls `work` with the bytes of a state that derives from the files of the disk; returns `None` if they
/// cannot be read.
pub(super) fn with_state<T>(
    snapshot: Snapshot<'_>,
    state: &FileState,
    work: Computation<'_, T>,
) -> Result<Option<T>, NotKept> {
    let on_disk = Snapshot { planned: None, ..snapshot };
    with_base(on_disk, &state.base, &mut |base| match result(base, &state.splices) {
        Some(bytes) => work(&bytes),
        None => Ok(None),
    })
}

/// Returns the present content of a file; `None` if it cannot be read, or is too large.
pub(crate) fn now(snapshot: Snapshot<'_>, path: &Path) -> Option<Vec<u8>> {
    let mut whole = |source: &dyn Source<Error = ReadFault>| {
        view(source, &SpliceSet::default()).map(|bytes| read_range(&bytes, 0..bytes.size())).transpose()
    };
    with_base(snapshot, &Base::File(path.to_owned()), &mut whole).ok().flatten()
}

/// Returns a view of the bytes that result from the splices; `None` if the splices are not within the base,
/// or if the base or the result is too large.
pub(super) fn view<'a, S: Source + ?Sized>(base: &'a S, splices: &'a SpliceSet) -> Option<Spliced<'a, S>> {
    let result = result(base, splices).filter(|_| base.size() <= MAX_BYTES)?;
    Some(result).filter(|bytes| bytes.size() <= MAX_BYTES)
}

/// Returns a view of the bytes that result from the splices; `None` if the splices are not within the base.
pub(crate) fn result<'a, S: Source + ?Sized>(base: &'a S, splices: &'a SpliceSet) -> Option<Spliced<'a, S>> {
    let end = splices.as_slice().last().map_or(0, |splice| splice.at.end);
    (end <= base.size()).then(|| Spliced::new(base, splices))
}

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
    use mcp_text_editor_core::splice::Splice;

    use super::*;
    use crate::tests::world::World;

    /// Splices from the history may belong to another file, or result in content that is too large.
    #[test]
    fn splices_that_do_not_fit_give_no_bytes() {
        let splice = |at, insert| SpliceSet::new(vec![Splice { at, insert }]).unwrap();
        let seen = |splices| {
            view(&Kept(b"ab".to_vec()), &splices).map(|bytes| read_range(&bytes, 0..bytes.size()).unwrap())
        };
        assert_eq!(seen(splice(1..2, b"c".to_vec())), Some(b"ac".to_vec()));
        assert_eq!(seen(splice(1..3, b"c".to_vec())), None);
        let most = usize::try_from(MAX_BYTES).unwrap();
        assert_eq!(seen(splice(1..2, vec![0; most])), None);
    }

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
