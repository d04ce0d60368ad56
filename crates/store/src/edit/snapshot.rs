//! Defines the files and the history as an undo finds them: [`Snapshot`]. Reads bytes that derive from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::source::{Source, read_range};
use mcp_text_editor_core::splice::{SpliceSet, Spliced};

use crate::cancellation::Cancellation;
use crate::error::ReadFault;
use crate::history::{EditId, History, NotKept, Undo};
use crate::read::document::{Document, read};
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

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::splice::Splice;

    use super::*;

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
}
