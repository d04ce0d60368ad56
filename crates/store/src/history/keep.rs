//! Gives a process access to the history: [`History`], which keeps edits in an [`Archive`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;

use crate::access::patterns::Patterns;
use crate::access::place::{DirectoryKey, Place};
use crate::history::archive::{Archive, Planned};
use crate::history::edit::{Caller, ChangeKind, EditId, EditedFile, NewEdit, Undo};
#[cfg(feature = "history")]
use crate::history::embedded::Embedded;
use crate::history::entry::{Entry, EntryFile, Filter, Forgotten, KnownRoot};
use crate::history::settings::{NotKept, Remedy, Settings};
use crate::os::real_path::real_path;
#[cfg(feature = "history")]
use crate::state_dir::HISTORY;
use crate::state_dir::StateDir;

/// The past edits, kept in the state directory or in an archive that several machines share.
///
/// The default history keeps nothing. Several threads may use a history; they wait for each other.
#[derive(Debug)]
pub struct History {
    kept: Result<Kept, NotKept>,
}

impl Default for History {
    fn default() -> Self {
        Self { kept: Err(NotKept::Off) }
    }
}

/// The archive in which edits are kept, and the settings that bound it.
#[derive(Debug)]
struct Kept {
    settings: Settings,
    archive: Mutex<Box<dyn Archive>>,
}

impl Kept {
    fn archive(&self) -> MutexGuard<'_, Box<dyn Archive>> {
        // A poisoned lock is no problem: the database has rolled back the transaction that a panic
        // interrupted.
        self.archive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    /// Returns the history in this state directory. The database is opened when it is first needed.
    #[must_use]
    #[cfg(feature = "history")]
    pub fn new(state: &StateDir, settings: Settings) -> Self {
        Self::of_archive(Box::new(Embedded::new(state.path().join(HISTORY))), settings)
    }

    /// Returns a history that keeps nothing: this build keeps no edits in a state directory.
    #[must_use]
    #[cfg(not(feature = "history"))]
    pub fn new(_: &StateDir, _: Settings) -> Self {
        Self::default()
    }

    /// Returns the history in this archive.
    #[doc(hidden)]
    #[must_use]
    pub fn of_archive(archive: Box<dyn Archive>, settings: Settings) -> Self {
        Self { kept: Ok(Kept { settings, archive: Mutex::new(archive) }) }
    }

    /// Returns a history that was requested but cannot be kept, since there is no state directory.
    #[must_use]
    pub fn without_state(reason: String) -> Self {
        Self { kept: Err(NotKept::Unavailable { reason, remedy: Remedy::StateDirectory }) }
    }

    /// Checks that edits of a file may be kept. The file is given by its absolute path, and by its path
    /// relative to its root.
    pub fn keeps(&self, path: &Path, relative: &Path) -> Result<(), NotKept> {
        let kept = self.kept()?;
        if kept.settings.excluded.matches(path, relative) { Err(NotKept::Secret) } else { Ok(()) }
    }

    /// Does the same check as [`History::keeps`] for the path of a place (the file that a call edits), and
    /// for every symbolic link that led to the place.
    pub(crate) fn keeps_place(&self, place: &Place) -> Result<(), NotKept> {
        place.names().try_for_each(|(path, relative)| self.keeps(path, relative))
    }

    /// Prepares the archive for the first edit, if edits of this place may be kept. The preparations can take
    /// long, so they must be done before the edit creates temporary files.
    pub(crate) fn prepare(&self, place: &Place) {
        // If another thread holds the lock, it is using the archive, so the archive needs no preparation.
        if let Ok(kept) = self.kept()
            && let Ok(mut archive) = kept.archive.try_lock()
        {
            archive.prepare(&|| self.keeps_place(place).is_ok());
        }
    }

    /// Keeps an edit that was made, and returns its entry. `undone` is the edit that the new edit undid, if
    /// any. An error does not affect the edit itself.
    ///
    /// Waits at most some seconds for other processes. After a timeout, later calls wait much less, until a
    /// call succeeds. Drops the oldest edits if the bounds in [`Settings`] require it. Does not sync: after a
    /// power cut, the last edits can be missing from the history, but nothing else is lost.
    #[doc(hidden)]
    pub fn keep(&self, edit: NewEdit<'_>, undone: Option<&Entry>) -> Result<Entry, NotKept> {
        self.keep_all(vec![edit], &[undone])?.pop().ok_or(NotKept::Off)
    }

    /// Keeps several edits as [`History::keep`] does, all or none, in this order.
    #[doc(hidden)]
    pub fn keep_all(
        &self,
        edits: Vec<NewEdit<'_>>,
        undone: &[Option<&Entry>],
    ) -> Result<Vec<Entry>, NotKept> {
        for file in edits.iter().flat_map(|edit| &edit.files) {
            self.keeps(&file.path, &file.relative)?;
        }
        let kept = self.kept()?;
        let recorded = kept.archive().record(&kept.settings, &edits, false)?;
        let entries = edits.into_iter().zip(recorded).zip(undone);
        Ok(entries.map(|((edit, recorded), undone)| Entry::new(edit, recorded, *undone)).collect())
    }

    /// Returns a history with the same edits, which keeps further edits only in memory.
    pub(crate) fn planned(&self) -> Result<Self, NotKept> {
        let kept = self.kept()?;
        let archive = Planned::new(kept.archive().reader());
        let settings = Settings { excluded: Patterns::default(), ..kept.settings };
        Ok(Self::of_archive(Box::new(archive), settings))
    }

    /// Keeps content that has no path any more, because of a race between an interrupted edit and another
    /// program's write. The content is listed as a separate edit, which cannot be undone, and the bounds
    /// apply to it. No other copy exists, so the content is on disk when this function returns.
    pub fn keep_displaced(&self, path: &Path, relative: &Path, contents: &[u8]) -> Result<EditId, NotKept> {
        let file = EditedFile {
            path: path.to_owned(),
            relative: relative.to_owned(),
            encoding: Encoding::Utf8,
            before: Some(Digest::of(contents)),
            after: None,
            undo: Undo::Displaced { contents: contents.to_vec() },
            diff: String::new(),
        };
        self.keeps(path, relative)?;
        let by = Caller { tool: RECOVERY, ..Caller::default() };
        let edit = NewEdit { by, undoes: None, files: vec![file], root_keys: Vec::new() };
        let kept = self.kept()?;
        let recorded = kept.archive().record(&kept.settings, &[edit], true)?;
        recorded.into_iter().next().map(|(id, _)| id).ok_or(NotKept::Off)
    }

    /// Calls `each` with the past edits that pass the filter, the newest first, until `each` breaks. `likely`
    /// is the number of edits after which `each` probably breaks. The call does not block other uses of the
    /// history.
    ///
    /// If there is no history yet, none is created. The error for a database that cannot be read is
    /// [`NotKept::Unavailable`], here and in the functions below.
    pub fn each(
        &self,
        filter: &Filter,
        likely: usize,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), NotKept> {
        let mut reader = self.kept()?.archive().reader();
        reader.each(filter, likely, each)
    }

    /// Returns at most `limit` past edits that pass the filter and for which `wanted` returns `true`, the
    /// newest first.
    pub fn find(
        &self,
        filter: &Filter,
        limit: usize,
        wanted: &dyn Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, NotKept> {
        let mut found = Vec::new();
        if limit > 0 {
            self.each(filter, limit, &mut |entry| {
                found.extend(Some(entry).filter(wanted));
                if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        Ok(found)
    }

    /// Does the same as [`History::find`] with the filter [`Filter::of_path`].
    pub fn list(
        &self,
        path: Option<&Path>,
        limit: usize,
        wanted: &dyn Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, NotKept> {
        self.find(&Filter::of_path(path), limit, wanted)
    }

    /// Returns the edit with this id, and the undo of each of its files; `None` if the edit is not kept.
    pub fn get(&self, id: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        self.kept()?.archive().get(id)
    }

    /// Returns one key per file of an edit, in the order of the files: the key of the file's root at the time
    /// of the edit, or the default key if the root's key is not known. Empty if no keys were kept.
    #[doc(hidden)]
    pub fn root_keys(&self, id: &EditId) -> Result<Vec<DirectoryKey>, NotKept> {
        let keys = self.kept()?.archive().root_keys(id)?;
        Ok(keys.as_chunks().0.iter().copied().map(DirectoryKey).collect())
    }

    /// Returns the secret that all processes with this history share; keeps `fresh` as the secret if there is
    /// none yet. The secret never leaves the server.
    pub fn secret(&self, fresh: &[u8; 32]) -> Result<Vec<u8>, NotKept> {
        self.kept()?.archive().secret(fresh)
    }

    /// Tells whether the newest edit of a file left the file with the digest `now`, or without a file if
    /// `now` is `None`. If so, no other program has changed the file since.
    pub(crate) fn leaves(&self, path: &Path, now: Option<Digest>) -> Result<bool, NotKept> {
        let of_path = |file: &EntryFile| file.path == path && file.kind != ChangeKind::Displaced;
        let newest = self.find(&Filter::of_path(Some(path)), 1, &|entry| entry.files.iter().any(of_path))?;
        Ok(newest.first().is_some_and(|newest| newest.left_at(path) == now))
    }

    /// Returns the later edit of a file that prevents undoing edit `id`. That is the newest later edit, if it
    /// left the file with its current digest, `now`. Otherwise it is the oldest later edit, if it began with
    /// the content that edit `id` left. Returns `None` if neither holds. The oldest later edit is not found
    /// if there are 256 later edits or more.
    pub fn later(&self, id: &EditId, path: &Path, now: Option<Digest>) -> Result<Option<Entry>, NotKept> {
        let (mut newest, mut first, mut left) = (None, None, None);
        let mut rest = MAX_LATER;
        self.each(&Filter::of_path(Some(path)), 1, &mut |entry| {
            if entry.id == *id {
                left = entry.left_at(path);
                return ControlFlow::Break(());
            }
            if entry.files.iter().any(|file| file.path == path && file.kind != ChangeKind::Displaced) {
                let later = if newest.is_none() { &mut newest } else { &mut first };
                *later = Some(entry);
                rest -= 1;
            }
            if rest > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if newest.as_ref().is_some_and(|newest: &Entry| newest.left_at(path) == now) {
            return Ok(newest);
        }
        let before =
            |entry: &Entry| entry.files.iter().find_map(|file| file.before.filter(|_| file.path == path));
        Ok(first.or(newest).filter(|first| left.is_some() && before(first) == left))
    }

    /// Returns the indices of the edit's files whose names may belong to other files by now. With each index,
    /// returns the later edits that took the file's name away or gave it to another file, oldest first. Edits
    /// that were undone do not count.
    pub fn moved_since(&self, id: &EditId) -> Result<BTreeMap<usize, Vec<EditId>>, NotKept> {
        let mut moved: BTreeMap<usize, Vec<EditId>> = BTreeMap::new();
        for (file, edit, undoes) in self.kept()?.archive().moves_since(id)? {
            let standing = moved.entry(usize::try_from(file).unwrap_or(usize::MAX)).or_default();
            if standing.pop_if(|last| Some(&*last) == undoes.as_ref()).is_none() {
                standing.push(edit);
            }
        }
        moved.retain(|_, edits| !edits.is_empty());
        Ok(moved)
    }

    /// Returns the directories that several machines share, with the names that are the same on all machines,
    /// sorted by name; `None` if only this machine uses the history.
    pub fn roots(&self) -> Result<Option<Vec<KnownRoot>>, NotKept> {
        self.kept()?.archive().roots()
    }

    /// Deletes all past edits or, with a path, the edits of a file or of files below a directory. An edit can
    /// be undone only as a whole, so its changes of other files are deleted with it. In an embedded history,
    /// the bytes are overwritten, in the database and in its log.
    ///
    /// Without a path, a damaged database is removed. A database of a newer version, or of another program,
    /// stays unchanged.
    pub fn forget(&self, path: Option<&Path>) -> Result<Forgotten, NotKept> {
        self.kept()?.archive().forget(path)
    }

    fn kept(&self) -> Result<&Kept, NotKept> {
        self.kept.as_ref().map_err(Clone::clone)
    }
}

/// Returns the path under which edits of this file are kept: without symbolic links, as far as the path
/// exists.
#[must_use]
pub fn path_in_history(path: &Path) -> PathBuf {
    real_path(path)
}

/// The maximum number of later edits that [`History::later`] examines. A list of many undos makes one such
/// search for each undo.
const MAX_LATER: usize = 256;

/// The name of the tool in entries that recovery made. Recovery completes or reverts interrupted edits.
pub(crate) const RECOVERY: &str = "recovery";
