//! New content in the place of old, for all files of a call or for none: [`Temporary`], [`exchange`], [`commit`].
//!
//! The new content is complete, and synced if asked, beside the old file before the two change names. What is written,
//! and what is recorded of it for recovery, is the transaction's; a file that must keep its inode is not handled here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};
use mcp_text_editor_core::source::Source as _;

use crate::error::{Context as _, Operation, StoreError, StoreErrorKind};
use crate::identity::Identity;
use crate::lock::LockedFile;
use crate::metadata::{self, NotKept};
use crate::place::{OpenFile, Place, WritablePlace};
use crate::platform;

/// What the names of all temporary files begin with; list and search pass such files over.
pub const PREFIX: &str = ".mte-";

/// Content of a file in a directory that may not be written is kept in memory up to this size, for the time of the call.
pub const IN_MEMORY: u64 = 64 * 1024 * 1024;

/// How much is copied at a time.
const BLOCK: usize = 1024 * 1024;

/// How often names are swapped to get out of a race with another program before it is given up.
const SWAPS: usize = 64;

/// A new file beside the one that it is to replace, locked like it, and gone when dropped unless committed; or in
/// memory, for a file that is to be written over.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub struct Temporary {
    /// `None` for one in memory, which can be the source of a copy only.
    directory: Option<Arc<Dir>>,
    name: OsString,
    file: File,
    identity: Identity,
    path: PathBuf,
    written: u64,
}

impl Temporary {
    /// Makes an empty file in the place's directory, for nobody but this user to read (mode 0600).
    pub fn create(place: &WritablePlace) -> Result<Self, StoreError> {
        Self::create_in(&place.directory, place.path(), 0o600)
    }

    pub(crate) fn create_in(directory: &Arc<Dir>, beside: &Path, mode: u32) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
        platform::creation_mode(&mut options, mode);
        loop {
            let name = random_name();
            let path = beside.with_file_name(&name);
            let file = match directory.open_with(&name, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.context(Operation::WriteTemporary, &path)?.into_std(),
            };
            let identity = Identity::of(&file).context(Operation::WriteTemporary, &path)?;
            // After the exchange this is the file: nobody may build on it before the call is over. Nobody knows of it
            // yet, so that only a file system without locks can refuse.
            file.try_lock().ok();
            return Ok(Self { directory: Some(directory.clone()), name, file, identity, path, written: 0 });
        }
    }

    /// As [`Temporary::create`]; where the directory does not allow it, in memory, if at most [`IN_MEMORY`] bytes will
    /// be needed. If more, it is the directory that the error names.
    pub fn create_anywhere(place: &WritablePlace, size: u64) -> Result<Self, StoreError> {
        match Self::create(place) {
            Err(error) if error.kind == StoreErrorKind::PermissionDenied => {
                let directory = place.path().parent().unwrap_or(place.path()).to_owned();
                let refused = StoreError { path: directory, ..error };
                if size > IN_MEMORY {
                    return Err(refused);
                }
                Self::in_memory(place).map_err(|_| refused)
            }
            created => created,
        }
    }

    pub(crate) fn in_memory(place: &Place) -> io::Result<Self> {
        let file = platform::memory_file()?;
        let (identity, path) = (Identity::of(&file)?, place.path().to_owned());
        Ok(Self { directory: None, name: OsString::new(), file, identity, path, written: 0 })
    }

    /// Whether it is in the file's directory, so that it can get the file's name.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        self.directory.is_some()
    }

    /// The absolute path of the temporary, for the journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends bytes of a file, within the kernel where it can, else in blocks. A source that has become too short is
    /// [`StoreErrorKind::Changed`].
    pub fn copy_range(&mut self, from: &OpenFile, range: Range<u64>) -> Result<(), StoreError> {
        let mut offset = range.start;
        while offset < range.end {
            let length = usize::try_from(range.end - offset).unwrap_or(usize::MAX).min(1 << 30);
            let copied = platform::copy_in_kernel(from.file(), offset, &self.file, length);
            match copied.context(Operation::WriteTemporary, &self.path)? {
                // A 0 can also mean that this file system cannot (proc(5)): reading decides.
                None | Some(0) => break,
                Some(copied) => {
                    offset += copied as u64;
                    self.written += copied as u64;
                }
            }
        }
        let mut block = Vec::new();
        while offset < range.end {
            block.resize(usize::try_from(range.end - offset).unwrap_or(BLOCK).min(BLOCK), 0);
            let got = from.read_at(offset, &mut block).context(Operation::Read, from.path())?;
            if got == 0 {
                return Err(StoreError::new(Operation::Read, from.path(), StoreErrorKind::Changed));
            }
            let bytes = block.get(..got).unwrap_or_default();
            self.write_all(bytes).context(Operation::WriteTemporary, &self.path)?;
            offset += got as u64;
        }
        Ok(())
    }

    /// Gives it the mode, owner, group and extended attributes of the old file. Due after the last write, which may take set-id bits away.
    pub fn keep_metadata(&self, old: &OpenFile) -> Result<NotKept, StoreError> {
        metadata::keep(old, &self.file).context(Operation::KeepMetadata, &self.path)
    }

    /// Waits until content and metadata are on disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_all().context(Operation::Sync, &self.path)
    }

    /// What was written so far, to be read back. It shares the temporary's lock: drop it before others may edit.
    pub fn view(&self) -> Result<OpenFile, StoreError> {
        let file = self.file.try_clone().context(Operation::Open, &self.path)?;
        OpenFile::new(file, self.path.clone())
    }

    pub(crate) fn name(&self) -> &Path {
        Path::new(&self.name)
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Temporary {
    /// Removes the name if it still means this very file: after an exchange it means the old one.
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            unlink_if(directory, self.name(), &self.identity);
        }
    }
}

fn random_name() -> OsString {
    // std seeds it from the system, and anew each time: no dependency, and no clash but by chance, which O_EXCL tells.
    let id = RandomState::new().build_hasher().finish();
    OsString::from(format!("{PREFIX}{id:016x}"))
}

/// Unlinks a name if it means this file; whether it is gone.
pub(crate) fn unlink_if(directory: &Dir, name: &Path, identity: &Identity) -> bool {
    let is_it = Identity::at(directory, name).is_ok_and(|now| now.same_file(identity));
    is_it && directory.remove_file(name).is_ok()
}

/// A file that is ready to be replaced.
#[derive(Debug)]
pub struct Prepared {
    /// Where.
    pub place: WritablePlace,
    /// By what.
    pub temporary: Temporary,
    /// The old file, with the identity that it had before it was read.
    pub locked: LockedFile,
}

/// How a file was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The two files changed names in one step, and what came out was what had been read.
    Exchanged,
    /// The file system cannot do that: what another program wrote in the last instant would be lost.
    Renamed,
}

/// Replaces all files or none: [`exchange`], then [`Exchanged::sync_directories`], then `last`, which changes what cannot be
/// put back and so comes when nothing else can fail any more, then [`Exchanged::finish`].
pub fn commit(
    prepared: Vec<Prepared>,
    last: impl FnOnce() -> Result<(), StoreError>,
) -> Result<Vec<Method>, StoreError> {
    let exchanged = exchange(prepared)?;
    match exchanged.sync_directories().and_then(|()| last()) {
        Ok(()) => {
            let methods = exchanged.methods();
            exchanged.finish();
            Ok(methods)
        }
        Err(error) => Err(exchanged.roll_back(error)),
    }
}

/// Puts each temporary in the place of its file, in the order given; the old files stay, under the temporaries' names.
///
/// If one of them fails, those before it are put back and nothing has changed. A file that is no more what was locked
/// (device, inode, size, mtime), or that another program has opened for writing, is [`StoreErrorKind::Changed`].
pub fn exchange(prepared: Vec<Prepared>) -> Result<Exchanged, StoreError> {
    exchange_with(prepared, platform::exchange)
}

type Swap = fn(&Dir, &Path, &Path) -> io::Result<()>;

fn exchange_with(prepared: Vec<Prepared>, swap: Swap) -> Result<Exchanged, StoreError> {
    let mut exchanged = Exchanged { replaced: Vec::new(), swap };
    for file in prepared {
        match replace(file, swap) {
            Ok(replaced) => exchanged.replaced.push(replaced),
            Err(error) => return Err(exchanged.roll_back(error)),
        }
    }
    Ok(exchanged)
}

/// Files that have their new content, while the old is still there. Dropping it puts the old files back.
#[derive(Debug)]
#[must_use = "dropping it puts the old files back"]
pub struct Exchanged {
    replaced: Vec<Replaced>,
    swap: Swap,
}

#[derive(Debug)]
struct Replaced {
    prepared: Prepared,
    old: Old,
}

/// Where the old file is.
#[derive(Debug)]
enum Old {
    /// Under the temporary's name.
    Exchanged,
    /// Under another name of its own.
    Aside(Aside),
}

/// A second name for the old file or, where there are no hard links, a copy of it. Unlinked when dropped.
#[derive(Debug)]
enum Aside {
    Link(Link),
    Copy(Temporary),
}

#[derive(Debug)]
struct Link {
    directory: Arc<Dir>,
    name: OsString,
    identity: Identity,
}

impl Drop for Link {
    fn drop(&mut self) {
        unlink_if(&self.directory, Path::new(&self.name), &self.identity);
    }
}

impl Aside {
    fn of(prepared: &Prepared) -> Result<Self, StoreError> {
        let place = &prepared.place;
        let old = prepared.locked.file();
        let name = random_name();
        if place.directory.hard_link(place.name(), &place.directory, &name).is_ok() {
            let link = Link { directory: place.directory.clone(), name, identity: *old.identity() };
            return Ok(Self::Link(link));
        }
        let mut copy = Temporary::create(place)?;
        copy.copy_range(old, 0..old.size())?;
        // What cannot be kept could not be kept of the new file either, and was told of that.
        let _ = copy.keep_metadata(old)?;
        Ok(Self::Copy(copy))
    }

    fn name(&self) -> &Path {
        match self {
            Self::Link(link) => Path::new(&link.name),
            Self::Copy(copy) => copy.name(),
        }
    }
}

fn replace(prepared: Prepared, swap: Swap) -> Result<Replaced, StoreError> {
    let (place, temporary) = (&prepared.place, &prepared.temporary);
    let (directory, name) = (&place.directory, Path::new(place.name()));
    let checked = prepared.locked.file().identity();
    match swap(directory, name, temporary.name()) {
        Ok(()) => {
            let out = Identity::at(directory, temporary.name());
            let is_what_was_read = out.as_ref().is_ok_and(|out| out.same_content(checked));
            // Looked at once more, now that nobody can open the old file by its name: a writer would go on with it.
            if is_what_was_read && !platform::is_open_for_writing(prepared.locked.file().file()) {
                return Ok(Replaced { old: Old::Exchanged, prepared });
            }
            put_back(place, temporary, swap)?;
            Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed))
        }
        Err(error) if platform::is_unsupported(&error) => {
            let aside = Aside::of(&prepared)?;
            let now = Identity::at(directory, name).context(Operation::Replace, place.path())?;
            if !now.same_content(checked) || platform::is_open_for_writing(prepared.locked.file().file()) {
                return Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed));
            }
            let renamed = directory.rename(temporary.name(), directory, name);
            renamed.context(Operation::Replace, place.path())?;
            Ok(Replaced { old: Old::Aside(aside), prepared })
        }
        Err(error) => Err(StoreError::from_io(Operation::Replace, place.path(), error)),
    }
}

/// Swaps until what comes out is what was last put in: then no other program's file is left under our name, whoever
/// wrote meanwhile.
fn put_back(place: &Place, temporary: &Temporary, swap: Swap) -> Result<(), StoreError> {
    let (directory, name) = (&place.directory, Path::new(place.name()));
    let failed = |source| StoreError {
        kind: StoreErrorKind::NotRestored { paths: vec![place.path().to_owned()] },
        ..StoreError::from_io(Operation::Restore, place.path(), source)
    };
    let mut last_in = temporary.identity;
    for _ in 0..SWAPS {
        let next_in = Identity::at(directory, temporary.name()).map_err(failed)?;
        swap(directory, name, temporary.name()).map_err(failed)?;
        let out = Identity::at(directory, temporary.name()).map_err(failed)?;
        if out.same_file(&last_in) {
            return Ok(());
        }
        last_in = next_in;
    }
    Err(failed(io::ErrorKind::ResourceBusy.into()))
}

impl Exchanged {
    /// How each file was replaced, in the order of the commit.
    #[must_use]
    pub fn methods(&self) -> Vec<Method> {
        let method = |replaced: &Replaced| match replaced.old {
            Old::Exchanged => Method::Exchanged,
            Old::Aside(_) => Method::Renamed,
        };
        self.replaced.iter().map(method).collect()
    }

    /// Waits until the names are on disk, once for each directory.
    pub fn sync_directories(&self) -> Result<(), StoreError> {
        let mut synced = BTreeSet::new();
        for Replaced { prepared: Prepared { place, .. }, .. } in &self.replaced {
            let key = platform::key_of_directory(&place.directory).context(Operation::Sync, place.path())?;
            if synced.insert(key) {
                platform::sync_directory(&place.directory).context(Operation::Sync, place.path())?;
            }
        }
        Ok(())
    }

    /// Unlinks the old files, which ends the commit. What cannot be unlinked stays as a stray temporary, and is no
    /// error: the new content is in place.
    pub fn finish(mut self) {
        for Replaced { prepared, .. } in std::mem::take(&mut self.replaced) {
            let old = prepared.locked.file().identity();
            unlink_if(&prepared.place.directory, prepared.temporary.name(), old);
        }
    }

    /// Puts the old files back, the last first, because of `cause`, and returns the error to report: `cause` or, if a
    /// file could not be put back, [`StoreErrorKind::NotRestored`].
    #[must_use = "it says whether anything was left changed"]
    pub fn roll_back(mut self, cause: StoreError) -> StoreError {
        let mut paths = match &cause.kind {
            StoreErrorKind::NotRestored { paths } => paths.clone(),
            _ => Vec::new(),
        };
        paths.extend(self.put_all_back());
        if paths.is_empty() {
            return cause;
        }
        StoreError { kind: StoreErrorKind::NotRestored { paths }, operation: Operation::Restore, ..cause }
    }

    fn put_all_back(&mut self) -> Vec<PathBuf> {
        let mut failed = Vec::new();
        while let Some(Replaced { prepared, old }) = self.replaced.pop() {
            let Prepared { place, temporary, .. } = &prepared;
            let (directory, name) = (&place.directory, Path::new(place.name()));
            let is_back = match &old {
                Old::Exchanged => put_back(place, temporary, self.swap).is_ok(),
                // Another program has written since: its file stays, as if it had come after a call that succeeded.
                Old::Aside(_) if !means(directory, name, &temporary.identity) => true,
                Old::Aside(aside) => directory.rename(aside.name(), directory, name).is_ok(),
            };
            if !is_back {
                failed.push(place.path().to_owned());
            }
        }
        failed
    }
}

impl Drop for Exchanged {
    fn drop(&mut self) {
        self.put_all_back();
    }
}

fn means(directory: &Dir, name: &Path, identity: &Identity) -> bool {
    Identity::at(directory, name).is_ok_and(|now| now.same_file(identity))
}

#[cfg(test)]
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::lock::{Wait, lock};
    use crate::roots::Roots;

    /// Files `a`, `b`, `c` with "old", each prepared with "new".
    fn three() -> (tempfile::TempDir, Vec<Prepared>) {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
        let prepared = ["a", "b", "c"].map(|name| {
            let path = directory.path().join(name);
            std::fs::write(&path, "old").unwrap();
            let place = roots.resolve_for_writing(path.to_str().unwrap()).unwrap();
            let locked = lock(&place, &Wait::default()).unwrap();
            let mut temporary = Temporary::create(&place).unwrap();
            temporary.write_all(b"new").unwrap();
            Prepared { place, temporary, locked }
        });
        (directory, prepared.into())
    }

    fn state(directory: &tempfile::TempDir) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
        let mut state: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let name = if name.starts_with(PREFIX) { PREFIX.to_owned() } else { name };
                (name, std::fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        state.sort();
        state
    }

    fn pairs<const N: usize>(state: [(&str, &str); N]) -> Vec<(String, String)> {
        state.map(|(name, content)| (name.to_owned(), content.to_owned())).into()
    }

    fn cannot(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[test]
    fn without_an_exchange_the_old_file_waits_under_a_second_name() {
        let (directory, prepared) = three();
        let exchanged = exchange_with(prepared, cannot).unwrap();
        assert_eq!(exchanged.methods(), [Method::Renamed; 3]);
        let (old, new) = ((PREFIX, "old"), "new");
        assert_eq!(state(&directory), pairs([old, old, old, ("a", new), ("b", new), ("c", new)]));
        exchanged.finish();
        assert_eq!(state(&directory), pairs([("a", new), ("b", new), ("c", new)]));

        let (directory, prepared) = three();
        drop(exchange_with(prepared, cannot).unwrap());
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));

        let (directory, prepared) = three();
        std::fs::remove_file(prepared[2].temporary.path()).unwrap();
        assert_eq!(exchange_with(prepared, cannot).unwrap_err().kind, StoreErrorKind::NotFound);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));

        let (directory, prepared) = three();
        std::fs::write(directory.path().join("b"), "other").unwrap();
        assert_eq!(exchange_with(prepared, cannot).unwrap_err().kind, StoreErrorKind::Changed);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "other"), ("c", "old")]));
    }

    thread_local! {
        static SWAPS_LEFT: Cell<usize> = const { Cell::new(0) };
        /// What other programs rename over the file before each of the next swaps.
        static OUTSIDERS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn what_cannot_be_put_back_is_told() {
        fn only_so_often(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            let left = SWAPS_LEFT.get();
            SWAPS_LEFT.set(left.saturating_sub(1));
            if left == 0 {
                Err(io::Error::other("broken"))
            } else {
                platform::exchange(directory, file, temporary)
            }
        }
        let (directory, prepared) = three();
        SWAPS_LEFT.set(2);
        let error = exchange_with(prepared, only_so_often).unwrap_err();
        let StoreErrorKind::NotRestored { paths } = error.kind else { panic!("{error}") };
        let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(error.source.unwrap().to_string(), "broken");
        // The old content is not thrown away.
        let (old, new) = ((PREFIX, "old"), "new");
        assert_eq!(state(&directory), pairs([old, old, ("a", new), ("b", new), ("c", "old")]));
    }

    #[test]
    fn of_a_lost_race_the_newest_file_stays() {
        fn after_outsiders(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            if let Some(content) = OUTSIDERS.with_borrow_mut(Vec::pop) {
                directory.write("outsider", content)?;
                directory.rename("outsider", directory, file)?;
            }
            platform::exchange(directory, file, temporary)
        }
        for outsiders in [vec!["1"], vec!["2", "1"], vec!["3", "2", "1"]] {
            let newest = outsiders[0];
            let (directory, mut prepared) = three();
            prepared.truncate(1);
            OUTSIDERS.set(outsiders);
            let error = exchange_with(prepared, after_outsiders).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Changed);
            let of_a = state(&directory).into_iter().find(|(name, _)| name == "a").unwrap();
            assert_eq!(of_a.1, newest);
        }
    }

    #[test]
    fn where_nothing_else_works_a_copy_is_kept_aside() {
        let (directory, prepared) = three();
        let mut copy = Temporary::create(&prepared[0].place).unwrap();
        copy.copy_range(prepared[0].locked.file(), 0..3).unwrap();
        let mut exchanged = exchange_with(prepared, cannot).unwrap();
        exchanged.replaced[0].old = Old::Aside(Aside::Copy(copy));
        drop(exchanged);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));
    }
}
