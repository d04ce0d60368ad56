//! The states of a file before and after a past edit. They are put together from the file's content now and
//! the undo data of later edits.

use std::cell::Cell;
use std::convert::Infallible;
use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::{SpliceSet, Spliced};

use crate::cancellation::Cancellation;
use crate::edit::undo::is_in_roots;
use crate::history::{ChangeKind, EditId, Entry, EntryFile, NotKept, Undo};
use crate::read::document::read;
use crate::workspace::Workspace;

/// The largest file whose states are put together, since they are held in memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes that all steps back may copy together.
const MAX_COPIED: u64 = 4 * 1024 * 1024 * 1024;

/// The bytes of a file before and after an edit; `None` on a side where there was no file of that name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct States {
    /// The bytes before the edit.
    pub before: Option<Vec<u8>>,
    /// The bytes after the edit.
    pub after: Option<Vec<u8>>,
}

/// Returns the states of one file of an edit, by its index there. A file that was moved had the same bytes at
/// both places: `before` at the old one, `after` at the new one. See [`Workspace::states`].
pub(crate) fn states(workspace: &Workspace, id: &EditId, file: usize) -> Result<Option<States>, NotKept> {
    let Some((entry, undos)) = workspace.history.get(id)? else { return Ok(None) };
    let (Some(row), Some(undo)) = (entry.files.get(file), undos.get(file)) else { return Ok(None) };
    if !is_in_roots(workspace, &entry) {
        return Ok(None);
    }
    let after = |row: &EntryFile| {
        row.after.map_or(Ok(None), |digest| bytes_after(workspace, &entry, &row.path, digest))
    };
    // A file that left its old place is found at the new one.
    let moved = entry.moved_at(file).map(|(_, to)| (to, file + 1));
    let moved = moved.or_else(|| Some((entry.moved_at(file.checked_sub(1)?)?.1, file)));
    if let Some((to, at)) = moved {
        let edited = entry.files.get(at + 1).zip(undos.get(at + 1));
        let bytes = match edited.filter(|(row, _)| row.is_change_of(to)) {
            Some((row, Undo::Splices(splices))) => after(row)?.and_then(|bytes| back(&bytes, splices)),
            _ => after(to)?,
        };
        let is_old_place = at != file;
        return Ok(bytes.map(|bytes| {
            if is_old_place {
                States { before: Some(bytes), after: None }
            } else {
                States { before: None, after: Some(bytes) }
            }
        }));
    }
    Ok(match undo {
        Undo::Create { contents } => Some(States { before: Some(contents.clone()), after: None }),
        Undo::Remove { .. } => after(row)?.map(|bytes| States { before: None, after: Some(bytes) }),
        Undo::Splices(splices) => after(row)?.and_then(|bytes| {
            let before = back(&bytes, splices)?;
            (row.before == Some(Digest::of(&before)))
                .then_some(States { before: Some(before), after: Some(bytes) })
        }),
        Undo::Displaced { .. } => None,
    })
}

/// Returns the content of a file just after an edit, which left it with this digest. Follows the file through
/// later edits to its place now, and then turns these edits back. Returns `None` if another program changed
/// the file after the edit.
fn bytes_after(
    workspace: &Workspace,
    entry: &Entry,
    path: &Path,
    digest: Digest,
) -> Result<Option<Vec<u8>>, NotKept> {
    let (mut path, mut at) = (path.to_owned(), digest);
    let mut last = entry.id.clone();
    let mut steps: Vec<(EditId, usize)> = Vec::new();
    let mut removed = None;
    'places: loop {
        let is_later = Cell::new(true);
        let later = workspace.history.list(Some(&path), usize::MAX, &|entry| {
            is_later.set(is_later.get() && entry.id != last);
            is_later.get()
        })?;
        for later in later.into_iter().rev() {
            let of_path = |row: &&EntryFile| row.path == path && row.kind != ChangeKind::Displaced;
            if !later.files.iter().any(|row| of_path(&row)) {
                continue;
            }
            let goes_on = |kind| {
                later.files.iter().position(|row| of_path(&row) && row.kind == kind && row.before == Some(at))
            };
            if let Some(gone) = goes_on(ChangeKind::Removed) {
                let Some((_, to)) = later.moved_at(gone) else {
                    removed = Some((later.id, gone));
                    break 'places;
                };
                path.clone_from(&to.path);
                if let Some(edited) = later.files.get(gone + 2).filter(|row| row.is_change_of(to)) {
                    steps.push((later.id.clone(), gone + 2));
                    let Some(left) = edited.after else { return Ok(None) };
                    at = left;
                }
                last = later.id;
                continue 'places;
            }
            let Some(changed) = goes_on(ChangeKind::Changed) else { return Ok(None) };
            let Some(left) = later.files.get(changed).and_then(|row| row.after) else { return Ok(None) };
            at = left;
            steps.push((later.id, changed));
        }
        break;
    }
    let base = match &removed {
        Some((id, row)) => match undo_of(workspace, id, *row)? {
            Some(Undo::Create { contents }) => Some(contents),
            _ => None,
        },
        None => now(workspace, &path),
    };
    let Some(mut bytes) = base.filter(|bytes| Digest::of(bytes) == at) else { return Ok(None) };
    let mut copied = 0_u64;
    for (id, row) in steps.iter().rev() {
        let Some(Undo::Splices(splices)) = undo_of(workspace, id, *row)? else { return Ok(None) };
        let Some(before) = back(&bytes, &splices) else { return Ok(None) };
        bytes = before;
        copied = copied.saturating_add(bytes.len() as u64);
        if copied > MAX_COPIED {
            return Ok(None);
        }
    }
    Ok((Digest::of(&bytes) == digest).then_some(bytes))
}

fn undo_of(workspace: &Workspace, id: &EditId, row: usize) -> Result<Option<Undo>, NotKept> {
    let found = workspace.history.get(id)?;
    Ok(found.and_then(|(_, undos)| undos.into_iter().nth(row)))
}

/// Returns the content of the file now; `None` if it cannot be read, or is too large.
pub(crate) fn now(workspace: &Workspace, path: &Path) -> Option<Vec<u8>> {
    let place = workspace.roots.place(path).ok()?;
    let bytes = read(&workspace.scan_cache, &place, None, Cancellation::none(), |document| {
        let size = document.scan.size;
        if size > MAX_BYTES { Ok(None) } else { read_range(document, 0..size).map(Some) }
    });
    bytes.ok().flatten()
}

/// Applies splices to bytes; `None` if the splices do not lie within the bytes, or if the result is too
/// large.
fn back(bytes: &[u8], splices: &SpliceSet) -> Option<Vec<u8>> {
    let end = splices.as_slice().last().map_or(0, |splice| splice.at.end);
    if end > bytes.len() as u64 {
        return None;
    }
    let old = Spliced::new(bytes, splices);
    if old.size() > MAX_BYTES {
        return None;
    }
    Some(read_range(&old, 0..old.size()).unwrap_or_else(|never: Infallible| match never {}))
}

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::splice::Splice;

    use super::*;

    /// The rows of a history may be of another file, and nobody has that much memory.
    #[test]
    fn splices_that_do_not_fit_give_no_bytes() {
        let splice = |at, insert| SpliceSet::new(vec![Splice { at, insert }]).unwrap();
        assert_eq!(back(b"ab", &splice(1..2, b"c".to_vec())), Some(b"ac".to_vec()));
        assert_eq!(back(b"ab", &splice(1..3, b"c".to_vec())), None);
        let most = usize::try_from(MAX_BYTES).unwrap();
        assert_eq!(back(b"ab", &splice(1..2, vec![0; most])), None);
    }
}
