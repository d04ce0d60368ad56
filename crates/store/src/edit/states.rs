//! Reconstructs the states of a file before and after a past edit, from the file's present content and the
//! undo data of later edits. The states are compared without being held in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::diff::{Comparison, Hunks, read as read_diff, unapplied};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::regions::{regions, whole};
use mcp_text_editor_core::resolve::{Plan, SpliceInfo};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{Source, for_each_chunk, read_range};
use mcp_text_editor_core::splice::{Splice, SpliceSet, Spliced};

use crate::edit::request::is_in_roots;
use crate::edit::snapshot::{Base, FileState, Snapshot, undo_of, view, with_base};
use crate::error::ReadFault;
use crate::history::{ChangeKind, EditId, Entry, EntryFile, Filter, NotKept, Undo};

/// The bytes of a file before and after an edit; `None` for a time at which no file had the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct States {
    /// The bytes before the edit.
    pub before: Option<Vec<u8>>,
    /// The bytes after the edit.
    pub after: Option<Vec<u8>>,
}

/// For each path, the state that was reconstructed last. So if a caller compares the edits of a file, the
/// newest first, each edit is reversed only once.
#[derive(Default, Debug)]
pub struct KnownStates(HashMap<PathBuf, (Digest, FileState)>);

/// The maximum number of a file's later edits among which those that prevent an undo are searched for.
const MAX_STEPS: usize = 2_000;
/// The maximum number of comparisons between places of the edit to undo and places of one later edit.
const MAX_PAIRS: usize = 10_000_000;

/// The states of a file before and after an edit, each with its digest. At least one of the two is known.
struct Sides {
    before: Option<(FileState, Digest)>,
    after: Option<(FileState, Digest)>,
    /// The splices that reverse the edit, if it changed the file's content.
    undo: SpliceSet,
    /// Whether the file was moved, so that one side is its old or new place. The file had the same bytes at
    /// both places.
    is_moved: bool,
}

/// Returns the states of one file of an edit; `file` is its index in the edit. A move has two files, the old
/// and the new place, with the same bytes: the old place has them as `before`, the new place as `after`. See
/// [`Workspace::states`].
pub(crate) fn states(snapshot: Snapshot<'_>, id: &EditId, file: usize) -> Result<Option<States>, NotKept> {
    let Some((sides, _)) = sides(snapshot, id, file, &mut KnownStates::default())? else { return Ok(None) };
    let read = |side: &Option<(FileState, Digest)>| {
        let Some((state, digest)) = side else { return Ok::<_, NotKept>(Some(None)) };
        let bytes = with_base(snapshot, &state.base, &mut |base| {
            view(base, &state.splices).map(|bytes| read_range(&bytes, 0..bytes.size())).transpose()
        })?;
        Ok(bytes.filter(|bytes| Digest::of(bytes) == *digest).map(Some))
    };
    let both = read(&sides.before)?.zip(read(&sides.after)?);
    Ok(both.map(|(before, after)| States { before, after }))
}

/// Compares the states of one file of an edit; `file` is its index in the edit. See
/// [`Workspace::comparison`].
pub(crate) fn comparison(
    snapshot: Snapshot<'_>,
    id: &EditId,
    file: usize,
    most: usize,
    known: &mut KnownStates,
) -> Result<Option<Comparison>, NotKept> {
    let Some((sides, encoding)) = sides(snapshot, id, file, known)? else { return Ok(None) };
    let Some((state, _)) = sides.before.as_ref().or(sides.after.as_ref()) else { return Ok(None) };
    with_base(snapshot, &state.base, &mut |base| compared(base, &sides, encoding, most))
}

/// Compares both sides. Returns `None` if a side is too large, or does not have the expected digest.
fn compared(
    base: &dyn Source<Error = ReadFault>,
    sides: &Sides,
    encoding: Encoding,
    most: usize,
) -> Result<Option<Comparison>, ReadFault> {
    let empty = SpliceSet::new(vec![Splice { at: 0..base.size(), insert: Vec::new() }]).unwrap_or_default();
    let before = scanned(base, sides.before.as_ref(), &empty, encoding)?;
    let after = scanned(base, sides.after.as_ref(), &empty, encoding)?;
    let Some(((before, before_scan), (after, after_scan))) = before.zip(after) else { return Ok(None) };
    if sides.is_moved {
        let scan = Some(if sides.before.is_some() { before_scan } else { after_scan });
        return Ok(Some(Comparison { before: scan.clone(), after: scan, hunks: Hunks::default() }));
    }
    let (old, new) = (Scanned::new(&before, &before_scan), Scanned::new(&after, &after_scan));
    let regions = if before_scan.undecodable.is_some() || after_scan.undecodable.is_some() {
        Vec::new()
    } else if sides.before.is_some() && sides.after.is_some() {
        let splices = sides.undo.inverse(&after)?;
        let facts = vec![SpliceInfo::of(Tier::Exact); splices.as_slice().len()];
        regions(old, new, &Plan { splices, facts, adds_final_newline: false, unchanged: false })?
    } else {
        whole(old, new)?.into_iter().collect()
    };
    let compared = Comparison::new(old, new, &regions, most)?;
    Ok(Some(Comparison {
        before: compared.before.filter(|_| sides.before.is_some()),
        after: compared.after.filter(|_| sides.after.is_some()),
        ..compared
    }))
}

/// One side of a comparison: its bytes, as a view of the base, and their scan.
type ScannedSide<'a> = (Spliced<'a, dyn Source<Error = ReadFault> + 'a>, Scan);

/// Reads one side. If there was no file, the side is empty: the splices `empty` delete all bytes of the base.
/// Returns `None` if the side is too large, or does not have the expected digest.
fn scanned<'a>(
    base: &'a dyn Source<Error = ReadFault>,
    side: Option<&'a (FileState, Digest)>,
    empty: &'a SpliceSet,
    encoding: Encoding,
) -> Result<Option<ScannedSide<'a>>, ReadFault> {
    let Some(bytes) = view(base, side.map_or(empty, |(state, _)| &state.splices)) else { return Ok(None) };
    let mut scanner = Scanner::new(Some(encoding));
    for_each_chunk(&bytes, 0..bytes.size(), |_, chunk| {
        scanner.feed(chunk);
        true
    })?;
    let scan = scanner.finish();
    let is_it = side.is_none_or(|(_, digest)| scan.digest == *digest);
    Ok(is_it.then_some((bytes, scan)))
}

/// Finds the states of one file of an edit, and the file's encoding. Returns `None` if the edit is not kept,
/// or is withheld (some of its files are outside the roots), or if another program changed the file after the
/// edit.
fn sides(
    snapshot: Snapshot<'_>,
    id: &EditId,
    file: usize,
    known: &mut KnownStates,
) -> Result<Option<(Sides, Encoding)>, NotKept> {
    let Some((entry, undos)) = snapshot.history.get(id)? else { return Ok(None) };
    let (Some(row), Some(undo)) = (entry.files.get(file), undos.get(file)) else { return Ok(None) };
    if !is_in_roots(snapshot.workspace, &entry) {
        return Ok(None);
    }
    let after = |row: &EntryFile| match row.after {
        Some(digest) => {
            Ok::<_, NotKept>(state_after(snapshot, &entry, &row.path, digest, known)?.zip(row.after))
        }
        None => Ok(None),
    };
    let none = Sides { before: None, after: None, undo: SpliceSet::default(), is_moved: false };
    // If the file was moved, its content is looked up at its new place.
    let moved = entry.moved_at(file).map(|(_, to)| (to, file + 1));
    let moved = moved.or_else(|| Some((entry.moved_at(file.checked_sub(1)?)?.1, file)));
    let found = if let Some((to, at)) = moved {
        let edited = entry.files.get(at + 1).zip(undos.get(at + 1));
        let state = match edited.filter(|(row, _)| row.is_change_of(to)) {
            Some((row, Undo::Splices(splices))) => {
                after(row)?.map(|(state, _)| state.back(splices)).zip(row.before)
            }
            _ => after(to)?,
        };
        let is_old_place = at != file;
        state.map(|state| {
            let (before, after) = if is_old_place { (Some(state), None) } else { (None, Some(state)) };
            Sides { before, after, is_moved: true, ..none }
        })
    } else {
        match undo {
            Undo::Create { .. } => row.before.map(|digest| {
                let base = Base::Removed(id.clone(), file);
                Sides { before: Some((FileState { base, splices: SpliceSet::default() }, digest)), ..none }
            }),
            Undo::Remove { .. } => after(row)?.map(|after| Sides { after: Some(after), ..none }),
            Undo::Splices(splices) => after(row)?.zip(row.before).map(|(after, digest)| {
                let before = Some((after.0.back(splices), digest));
                Sides { before, after: Some(after), undo: splices.clone(), ..none }
            }),
            Undo::Displaced { .. } => None,
        }
    };
    if let Some(Sides { before: Some((state, digest)), .. }) = &found {
        known.0.insert(row.path.clone(), (*digest, state.clone()));
    }
    Ok(found.map(|sides| (sides, row.encoding)))
}

/// Returns the state of a file just after an edit; `digest` is the digest that the edit left. Returns `None`
/// if the state cannot be reconstructed, for example because another program changed the file after the edit.
fn state_after(
    snapshot: Snapshot<'_>,
    entry: &Entry,
    path: &Path,
    digest: Digest,
    known: &KnownStates,
) -> Result<Option<FileState>, NotKept> {
    if let Some((_, state)) = known.0.get(path).filter(|(known, _)| *known == digest) {
        return Ok(Some(state.clone()));
    }
    match follow(snapshot, entry, path, digest)? {
        Some(followed) => followed.turned_back(snapshot),
        None => Ok(None),
    }
}

/// The path and the content that a file of a past edit has after all later edits.
pub(crate) struct Standing {
    pub(crate) path: PathBuf,
    pub(crate) digest: Digest,
    /// The splices that reverse the later edits.
    pub(crate) back: SpliceSet,
}

/// Follows a file of a past edit through the later edits. Returns `None` if a later edit removed the file, if
/// another program changed it between two edits, or if it cannot be read. Does not notice a change by another
/// program after the last edit.
pub(crate) fn standing(
    snapshot: Snapshot<'_>,
    entry: &Entry,
    file: &EntryFile,
) -> Result<Option<Standing>, NotKept> {
    let Some(left) = file.after else { return Ok(None) };
    let Some(followed) = follow(snapshot, entry, &file.path, left)? else { return Ok(None) };
    let Some(FileState { base, splices }) = followed.turned_back(snapshot)? else { return Ok(None) };
    let digest = followed.digest;
    let back = with_base(snapshot, &base, &mut |bytes| {
        view(bytes, &splices).map(|_| splices.changing(bytes)).transpose()
    })?;
    let Base::File(path) = base else { return Ok(None) };
    Ok(back.map(|back| Standing { path, digest, back }))
}

/// Returns the splices that undo an edit in the present `bytes` of a file that another program has changed
/// since, and that keep the other program's changes. Returns `None` unless this is certainly possible:
/// [`unapplied`] has the conditions.
pub(crate) fn beside_others(file: &EntryFile, bytes: &[u8], undo: &SpliceSet) -> Option<SpliceSet> {
    let mut scanner = Scanner::new(Some(file.encoding));
    scanner.feed(bytes);
    unapplied(&read_diff(&file.diff), undo, Scanned::new(bytes, &scanner.finish()))
}

/// The later edits that touch or border the bytes that an edit wrote to a file.
pub(crate) struct InTheWay {
    /// The digest that the last later edit of the file left.
    pub(crate) digest: Digest,
    /// The newest later edit of each undo chain, oldest first, and whether it prevents the undo. If it does
    /// not, the later edits of its chain cancel each other out: the chain would prevent the undo if this
    /// newest edit were undone.
    pub(crate) newest: Vec<(Entry, bool)>,
}

/// Finds the later edits that prevent the undo of an edit in one file. Edits of the edit's own undo chain
/// never prevent it. Returns `None` if the history does not have all later edits, or if there are too many.
pub(crate) fn in_the_way(
    snapshot: Snapshot<'_>,
    entry: &Entry,
    file: &EntryFile,
    undo: &Undo,
) -> Result<Option<InTheWay>, NotKept> {
    let Some(left) = file.after else { return Ok(None) };
    let Some(followed) = follow(snapshot, entry, &file.path, left)? else { return Ok(None) };
    let mut places: Vec<Range<u64>> = match undo {
        Undo::Splices(splices) => splices.as_slice().iter().map(|splice| splice.at.clone()).collect(),
        // If the edit created the file, every later change touches what the edit wrote.
        _ => std::iter::once(0..u64::MAX / 2).collect(),
    };
    if followed.steps.len() > MAX_STEPS {
        return Ok(None);
    }
    // The newest edit of each chain; whether the chain has an odd number of later edits; and whether one of
    // them touches one of `places`.
    let mut chains: Vec<(Entry, bool, bool)> = Vec::new();
    for (id, row) in &followed.steps {
        let Some((later, mut undos)) = snapshot.history.get(id)? else { return Ok(None) };
        let Some(Undo::Splices(back)) = undos.get_mut(*row) else { return Ok(None) };
        if places.len().saturating_mul(back.as_slice().len()) > MAX_PAIRS {
            return Ok(None);
        }
        let (mut is_odd, mut touches) = (true, false);
        for place in &mut places {
            (touches, *place) = (touches | back.touches(place), back.widened(place));
        }
        if let Some(at) = chains.iter().position(|(earlier, ..)| earlier.chain == later.chain) {
            let (_, was_odd, did_touch) = chains.remove(at);
            (is_odd, touches) = (!was_odd, touches || did_touch);
        }
        chains.push((later, is_odd, touches));
    }
    let touching = chains.into_iter().filter(|(later, _, touches)| *touches && later.chain != entry.chain);
    let newest = touching.map(|(later, is_odd, _)| (later, is_odd)).collect();
    Ok(Some(InTheWay { digest: followed.digest, newest }))
}

/// A file that was followed through the edits after a past edit.
struct Followed {
    /// The later edits that changed the file's bytes, oldest first, each with the index of the file in the
    /// edit.
    steps: Vec<(EditId, usize)>,
    base: Base,
    /// The digest after the last of these edits.
    digest: Digest,
}

impl Followed {
    /// Returns the state before the followed edits, by reversing them, the newest first. Returns `None` if
    /// one of them is no longer kept.
    fn turned_back(&self, snapshot: Snapshot<'_>) -> Result<Option<FileState>, NotKept> {
        let mut joined = Joined::default();
        for (id, row) in self.steps.iter().rev() {
            let Some(Undo::Splices(splices)) = undo_of(snapshot, id, *row)? else { return Ok(None) };
            joined.push(splices);
        }
        Ok(Some(FileState { base: self.base.clone(), splices: joined.finish() }))
    }
}

/// Follows a file from an edit through the later edits to its present place. `path` and `digest` are those
/// that the edit left.
fn follow(
    snapshot: Snapshot<'_>,
    entry: &Entry,
    path: &Path,
    digest: Digest,
) -> Result<Option<Followed>, NotKept> {
    let (mut path, mut at) = (path.to_owned(), digest);
    let mut last = entry.id.clone();
    let mut steps: Vec<(EditId, usize)> = Vec::new();
    let mut base = None;
    let mut later = LaterEdits::default();
    while let Some(next) = later.next(snapshot, &path, &last)? {
        last = next.id.clone();
        let of_path = |row: &&EntryFile| row.path == path && row.kind != ChangeKind::Displaced;
        if !next.files.iter().any(|row| of_path(&row)) {
            continue;
        }
        if base.is_some() {
            // Unless this edit undoes the removal, the path now belongs to another file, even if its bytes
            // are the same.
            let removal = match &base {
                Some(Base::Removed(removal, _)) => Some(removal),
                _ => None,
            };
            if next.undoes.as_ref() != removal {
                break;
            }
            base = None;
            continue;
        }
        let goes_on = |kind| {
            next.files.iter().position(|row| of_path(&row) && row.kind == kind && row.before == Some(at))
        };
        if let Some(gone) = goes_on(ChangeKind::Removed) {
            let Some((_, to)) = next.moved_at(gone) else {
                base = Some(Base::Removed(next.id, gone));
                continue;
            };
            path.clone_from(&to.path);
            if let Some(edited) = next.files.get(gone + 2).filter(|row| row.is_change_of(to)) {
                steps.push((next.id.clone(), gone + 2));
                let Some(left) = edited.after else { return Ok(None) };
                at = left;
            }
            later.skip_to(&path, &last);
            continue;
        }
        let Some(changed) = goes_on(ChangeKind::Changed) else { return Ok(None) };
        let Some(left) = next.files.get(changed).and_then(|row| row.after) else { return Ok(None) };
        at = left;
        steps.push((next.id, changed));
    }
    Ok(Some(Followed { steps, base: base.unwrap_or(Base::File(path)), digest: at }))
}

/// The edits of each path that a file had, the newest first. The edits of a path are read only once, even if
/// the file came back to that path several times.
#[derive(Default)]
pub(crate) struct LaterEdits(HashMap<PathBuf, Vec<Entry>>);

impl LaterEdits {
    /// Returns the next edit of this path, or `None` after the newest. The first call for a path returns the
    /// edit after `last`.
    pub(crate) fn next(
        &mut self,
        snapshot: Snapshot<'_>,
        path: &Path,
        last: &EditId,
    ) -> Result<Option<Entry>, NotKept> {
        Ok(match self.0.entry(path.to_owned()) {
            MapEntry::Vacant(unread) => unread.insert(later_than(snapshot, path, last)?),
            MapEntry::Occupied(read) => read.into_mut(),
        }
        .pop())
    }

    /// Skips the edits of this path up to and including `edit`, which gave the path to the file.
    pub(crate) fn skip_to(&mut self, path: &Path, edit: &EditId) {
        if let Some(later) = self.0.get_mut(path) {
            later.truncate(later.iter().rposition(|entry| entry.id == *edit).unwrap_or(0));
        }
    }
}

/// Returns the edits of a path that were made after the edit `last`, the newest first.
pub(super) fn later_than(snapshot: Snapshot<'_>, path: &Path, last: &EditId) -> Result<Vec<Entry>, NotKept> {
    let mut later = Vec::new();
    snapshot.history.each(&Filter::of_path(Some(path)), usize::MAX, &mut |mut entry| {
        if entry.id == *last {
            return ControlFlow::Break(());
        }
        // Only the diffs of moves are needed. The other diffs are dropped, since there may be many edits.
        if entry.files.iter().all(|row| row.kind == ChangeKind::Changed) {
            entry.files.iter_mut().for_each(|row| row.diff = String::new());
        }
        later.push(entry);
        ControlFlow::Continue(())
    })?;
    Ok(later)
}

/// Consecutive splice sets, which are joined in pairs: joining `n` sets takes `n log n` steps.
#[derive(Default)]
struct Joined(Vec<(u32, SpliceSet)>);

impl Joined {
    fn push(&mut self, splices: SpliceSet) {
        let mut next = (0, splices);
        while let Some((rank, before)) = self.0.pop_if(|(rank, _)| *rank == next.0) {
            next = (rank + 1, before.then(&next.1));
        }
        self.0.push(next);
    }

    fn finish(self) -> SpliceSet {
        let all = self.0.into_iter().map(|(_, splices)| splices).rev();
        all.reduce(|after, before| before.then(&after)).unwrap_or_default()
    }
}
