//! Overwrites files in place where a rename would be wrong or impossible:
//! [`InPlace`](crate::commit::in_place::InPlace) lists the cases. After an error, a copy of the old bytes is
//! written back. After a crash, recovery completes the write of the new bytes.

use std::fs::File;
use std::io;
use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{Source as _, for_each_chunk};

use crate::access::place::{Bytes, OpenFile};
use crate::commit::staged::{NewContent, Replacement};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::os;
use crate::os::identity::Identity;
use crate::os::stored::{forget_cached, open_stored};
use crate::read::hash::{digest_as_stored, digest_of};
use crate::stage::Temporary;
use crate::state_dir::StateDir;

/// Files that are ready to be overwritten: each is open, has space reserved for the new content, and has a
/// copy of the old content.
#[derive(Debug)]
#[must_use = "nothing is written yet"]
pub(super) struct Overwriting<'f> {
    targets: Vec<Target<'f>>,
    write: WriteOver,
    sync: bool,
}

type WriteOver = fn(&Bytes<'_>, &File, bool) -> io::Result<()>;

#[derive(Debug)]
struct Target<'f> {
    staged: &'f Replacement,
    /// The file, open for writing.
    file: OpenFile,
    /// The file's identity after space was reserved, because that changes the file's times.
    checked: Identity,
    /// A copy of the file's old bytes.
    copy: Temporary,
}

impl<'f> Overwriting<'f> {
    /// Opens the files and makes the copies. The error is [`StoreErrorKind::Changed`] if a file has changed
    /// since it was read.
    ///
    /// With `sync`, each file is on disk before the next file is begun.
    pub(super) fn prepare(
        files: impl Iterator<Item = &'f Replacement>,
        state: Option<&StateDir>,
        sync: bool,
    ) -> Result<Self, StoreError> {
        let prepare = |file| Target::prepare(file, state);
        let targets = files.map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { targets, write: write_over, sync })
    }

    /// Checks again, just before anything is written, that no file has changed since it was read: see
    /// [`Overwriting::prepare`].
    pub(super) fn check(&self) -> Result<(), StoreError> {
        for Target { staged, checked, .. } in &self.targets {
            let place = &staged.place;
            if !place.identity()?.same_content(checked) {
                return Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed));
            }
        }
        self.targets.iter().try_for_each(Target::is_as_stored)
    }

    /// Returns the temporary files that must be on disk before anything is overwritten.
    pub(super) fn temporaries(&self) -> impl Iterator<Item = &Temporary> {
        self.targets.iter().flat_map(|target| [&target.staged.content.temporary, &target.copy])
    }

    /// Waits until the names of these temporary files are on disk.
    pub(super) fn sync_directories(&self) -> Result<(), StoreError> {
        self.temporaries().try_for_each(Temporary::sync_directory)
    }

    /// Overwrites all files. Before each file, calls `prove`, which checks that the journal record still
    /// belongs to this call. If a write fails, all files get their old bytes back; if that fails, too, the
    /// error is [`StoreErrorKind::NotRestored`]. If `prove` fails, everything is left as it is, and the error
    /// is also [`StoreErrorKind::NotRestored`].
    pub(super) fn write(&self, prove: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.check()?;
        for (done, target) in self.targets.iter().enumerate() {
            let Target { staged, file, .. } = target;
            if let Err(error) = prove() {
                return Err(error.not_restored(self.targets.iter().take(done).flat_map(Target::left)));
            }
            let context = |error| StoreError::from_io(Operation::Replace, staged.place.path(), error);
            // An earlier file of the call may be the same file under another name. Then this file already has
            // the earlier file's new bytes.
            let (begun, written) = match if done > 0 { target.is_no_other() } else { Ok(()) } {
                Ok(()) => {
                    let new = staged.content.temporary.bytes();
                    let written = new.and_then(|new| (self.write)(&new, file.file(), self.sync));
                    (done + 1, written.map_err(context))
                }
                changed => (done, changed),
            };
            let Err(error) = written else { continue };
            let begun = self.targets.iter().take(begun);
            let spoiled = begun.filter(|target| !target.restore(self.sync));
            let spoiled: Vec<LeftBehind> = spoiled.flat_map(Target::left).collect();
            return Err(if spoiled.is_empty() { error } else { error.not_restored(spoiled) });
        }
        Ok(())
    }

    /// Removes the temporary files. Returns whether all are gone.
    pub(super) fn finish(self) -> bool {
        let finish = |target: Target<'_>| target.staged.content.temporary.unlink() & target.copy.remove();
        self.targets.into_iter().map(finish).fold(true, |are_gone, is_gone| are_gone & is_gone)
    }

    /// Leaves the copies for recovery. Returns the files, and the copies of their old bytes.
    pub(super) fn leave(self) -> Vec<LeftBehind> {
        let left = self.targets.iter().flat_map(Target::left).collect();
        self.targets.into_iter().for_each(|target| target.copy.leave());
        left
    }
}

impl<'f> Target<'f> {
    fn prepare(staged: &'f Replacement, state: Option<&StateDir>) -> Result<Self, StoreError> {
        let Replacement { place, content: NewContent { temporary, unsettled, .. }, locked } = staged;
        let old = locked.file();
        let file = place.open_file(true)?;
        let changed = || StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed);
        if !file.identity().same_content(old.identity()) {
            return Err(changed());
        }
        let mut copy = Temporary::create_for_old(place, temporary.id(), old.size(), state)?;
        copy.copy_range(old, 0..old.size())?;
        // The file may have changed during the copy, but the copy must have the content that was read.
        let now = || os::identity_of(file.file()).context(Operation::Replace, place.path());
        if !now()?.same_content(old.identity())
            || !unsettled.as_ref().map_or(Ok(true), |content| content.is_in(old))?
        {
            return Err(changed());
        }
        let reserved = os::reserve(file.file(), old.size(), temporary.written());
        reserved.context(Operation::Replace, place.path())?;
        // `forget_cached` needs a byte for which it can reserve space without a change; an empty file has
        // none.
        if old.size() > 0 {
            forget_cached(&place.directory, file.file());
        }
        let checked = now()?;
        if checked.size != old.size() {
            return Err(changed());
        }
        Ok(Self { staged, file, checked, copy })
    }

    /// Checks that a file with several names still has the content that was read; if not, the error is
    /// [`StoreErrorKind::Changed`]. On some file systems (mergerfs, unionfs), each name has its own inode
    /// number. There, only the content shows that two files of a call are the same.
    fn is_no_other(&self) -> Result<(), StoreError> {
        let place = &self.staged.place;
        if os::links_of(self.file.file(), self.file.metadata()) <= 1 {
            return Ok(());
        }
        let now = place.open_file(false)?;
        os::ask_anew(now.file());
        if digest_of(&now.refreshed()?)? == self.copy.digest().context(Operation::Read, place.path())? {
            return Ok(());
        }
        Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed))
    }

    /// Checks, if other machines write to the file system, that the storage has the bytes that were read:
    /// this machine's cache may be outdated. If not, the error is [`StoreErrorKind::Changed`], and the next
    /// attempt waits a little for the new bytes.
    fn is_as_stored(&self) -> Result<(), StoreError> {
        let place = &self.staged.place;
        let stored = || -> io::Result<Option<Digest>> {
            let Some(stored) = open_stored(&place.directory, Path::new(place.name()))? else {
                return Ok(None);
            };
            let is_it = os::identity_of(&stored)?.same_file(&self.checked);
            if is_it { digest_as_stored(&stored) } else { Err(io::ErrorKind::StaleNetworkFileHandle.into()) }
        };
        let stored = stored().context(Operation::Replace, place.path())?;
        if stored.is_none_or(|stored| stored == self.staged.content.old) {
            return Ok(());
        }
        let stale = io::ErrorKind::StaleNetworkFileHandle.into();
        Err(StoreError::from_io(Operation::Replace, place.path(), stale))
    }

    fn restore(&self, sync: bool) -> bool {
        self.copy.bytes().is_ok_and(|old| write_over(&old, self.file.file(), sync).is_ok())
    }

    /// Returns the file, which may have lost its old bytes, and the copy of those bytes.
    fn left(&self) -> impl Iterator<Item = LeftBehind> {
        let path = self.staged.place.path();
        let copy = (!self.copy.is_in_memory())
            .then(|| LeftBehind::new(self.copy.path(), Remains::Old(path.to_owned())));
        [Some(LeftBehind::new(path, Remains::Changed)), copy].into_iter().flatten()
    }
}

/// Writes the new bytes over the old ones, from the start, then truncates the file to their length, and syncs
/// it if requested.
pub(super) fn write_over(from: &Bytes<'_>, to: &File, sync: bool) -> io::Result<()> {
    let mut written = Ok(());
    for_each_chunk(from, 0..from.size(), |offset, bytes| {
        written = os::write_all_at(to, bytes, offset);
        written.is_ok()
    })?;
    written?;
    to.set_len(from.size())?;
    if sync { os::sync_all(to) } else { Ok(()) }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use mcp_text_editor_core::digest::Digest;

    use super::*;
    use crate::access::place::WritablePlace;
    use crate::access::roots::Roots;
    use crate::commit::in_place::InPlace;
    use crate::lock::{LockTimeout, LockedFile, lock};
    use crate::stage::TemporaryId;

    thread_local! {
        static LEFT: Cell<usize> = Cell::default();
    }

    /// Writes [`LEFT`] files completely, then damages the next file and fails.
    fn only_so_many(from: &Bytes<'_>, to: &File, sync: bool) -> io::Result<()> {
        if LEFT.get() == 0 {
            os::write_all_at(to, b"spoiled", 0)?;
            to.set_len(7)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        LEFT.set(LEFT.get() - 1);
        write_over(from, to, sync)
    }

    /// Files `a`, `b` and `c` that hold `old`, each with `new` in its own directory or in memory.
    fn three(old: &str, new: &str, is_in_same_directory: bool) -> (tempfile::TempDir, Vec<Replacement>) {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(directory.path().join(name), old).unwrap();
        }
        let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
        let replacement = |name: &str| {
            let path = directory.path().join(name);
            let place = roots.resolve_for_writing(path.to_str().unwrap()).unwrap();
            let locked = lock(&place, &LockTimeout::default()).unwrap().into();
            replacement(place, locked, (old, new), is_in_same_directory)
        };
        let files = ["a", "b", "c"].map(replacement).into();
        (directory, files)
    }

    fn replacement(
        place: WritablePlace,
        locked: Arc<LockedFile>,
        (old, new): (&str, &str),
        is_in_same_directory: bool,
    ) -> Replacement {
        let id = TemporaryId::draw();
        let mut temporary = if is_in_same_directory {
            Temporary::create(&place, id).unwrap()
        } else {
            Temporary::in_memory(&place, id).unwrap()
        };
        temporary.write_all(new.as_bytes()).unwrap();
        let (old, new) = (Digest::of(old.as_bytes()), Digest::of(new.as_bytes()));
        let content = NewContent { temporary, in_place: Some(InPlace::Asked), old, new, unsettled: None };
        Replacement { place, content, locked }
    }

    #[test]
    fn an_error_in_the_middle_gives_all_files_their_old_bytes() {
        // New content that is longer or shorter than the old, beside the file or in memory.
        for (old, new) in [("old\n", "new content\n"), ("old content\n", "new\n")] {
            // Only Linux has files in memory.
            for &is_in_same_directory in &[true, false][..if cfg!(target_os = "linux") { 2 } else { 1 }] {
                for left in 0..=3 {
                    let (directory, files) = three(old, new, is_in_same_directory);
                    let path = |name: &str| directory.path().join(name);
                    LEFT.set(left);
                    let mut overwriting = Overwriting::prepare(files.iter(), None, true).unwrap();
                    overwriting.write = only_so_many;
                    let written = overwriting.write(&mut || Ok(()));
                    drop(overwriting);
                    drop(files);
                    let expected = if left == 3 { new } else { old };
                    assert_eq!(written.is_ok(), left == 3);
                    if let Err(error) = written {
                        assert_eq!(error.kind, StoreErrorKind::NoSpace);
                        assert_eq!(error.path.file_name().unwrap(), ["a", "b", "c"][left]);
                    }
                    for name in ["a", "b", "c"] {
                        assert_eq!(std::fs::read_to_string(path(name)).unwrap(), expected);
                    }
                    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
                }
            }
        }
    }

    #[test]
    fn who_lost_the_record_writes_no_more_and_takes_nothing_back() {
        for proofs in 0..3 {
            let (directory, files) = three("old\n", "new\n", true);
            let overwriting = Overwriting::prepare(files.iter(), None, true).unwrap();
            let mut left = proofs;
            let lost = StoreError::new(Operation::WriteJournal, directory.path(), StoreErrorKind::Io);
            let mut lost = Some(lost);
            let mut prove = || {
                if left == 0 {
                    return Err(lost.take().unwrap());
                }
                left -= 1;
                Ok(())
            };
            let error = overwriting.write(&mut prove).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::NotRestored);
            let of = |what: fn(&Remains) -> bool| error.left.iter().filter(|left| what(&left.what)).count();
            let kept = of(|what| matches!(what, Remains::Old(_)));
            assert_eq!((of(|what| *what == Remains::Changed), kept), (proofs, proofs));
            for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
                let is = std::fs::read_to_string(directory.path().join(name)).unwrap();
                assert_eq!(is, if index < proofs { "new\n" } else { "old\n" });
            }
            overwriting.leave();
        }
    }

    /// Where each name has an inode number of its own (mergerfs, unionfs), only the content shows that two
    /// names mean one file.
    #[test]
    fn a_file_is_not_written_over_by_two_of_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("a"), "old\n").unwrap();
        std::fs::hard_link(path("a"), path("b")).unwrap();
        let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
        let [a, b] = ["a", "b"].map(|name| roots.resolve_for_writing(path(name).to_str().unwrap()).unwrap());
        let locked: Arc<LockedFile> = lock(&a, &LockTimeout::default()).unwrap().into();
        let files = [(a, "one\n"), (b, "two\n")];
        let files = files.map(|(place, new)| replacement(place, locked.clone(), ("old\n", new), true));
        let overwriting = Overwriting::prepare(files.iter(), None, true).unwrap();
        let error = overwriting.write(&mut || Ok(())).unwrap_err();
        assert_eq!((error.kind, error.path.file_name()), (StoreErrorKind::Changed, path("b").file_name()));
        assert_eq!(std::fs::read_to_string(path("a")).unwrap(), "old\n");
    }

    /// This machine's cache of the file is outdated.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_another_machine_has_written_last_is_not_written_over() {
        for (stored, written) in [("old\n", "new\n"), ("two\n", "two\n")] {
            let below = tempfile::tempdir().unwrap();
            let path = below.path().join("a");
            std::fs::write(&path, "old\n").unwrap();
            let options = ["-o", "attr_timeout=3600,entry_timeout=3600"];
            let Some(shared) = crate::tests::mounted::Mounted::fuse(below.path(), &options) else { return };
            let roots = Roots::open(&[shared.path("")]).unwrap();
            let place = roots.resolve_for_writing(shared.path("a").to_str().unwrap()).unwrap();
            let locked = lock(&place, &LockTimeout::default()).unwrap().into();
            let files = [replacement(place, locked, ("old\n", "new\n"), true)];
            let overwriting = Overwriting::prepare(files.iter(), None, true).unwrap();
            std::fs::write(&path, stored).unwrap();
            let done = overwriting.write(&mut || Ok(())).map_err(|error| error.source.map(|why| why.kind()));
            let is_stale = Err(Some(io::ErrorKind::StaleNetworkFileHandle));
            assert_eq!(done, if stored == written { is_stale } else { Ok(()) });
            assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
        }
    }
}
