//! Replaces old content with new content: [`exchange`].
//!
//! Before the old and the new file exchange names, the new file is complete, in the same directory, and
//! synced if requested. `transaction.rs` decides what is recorded for recovery, and when the call is
//! committed; `overwrite.rs` handles files that must keep their inode.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use mcp_text_editor_core::source::Source as _;

use crate::access::place::WritablePlace;
use crate::commit::staged::Replacement;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{hard_link, rename_once};
use crate::os::patience::Patience;
use crate::read::hash::digest_of;
use crate::stage::{Temporary, unlink, unlink_if};

/// The maximum number of exchanges in a race with another program; after that, the attempt is given up.
const SWAPS: usize = 64;

/// The ways in which a file was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// The two files exchanged names atomically, and the file that lost the name still had the content that
    /// was read.
    Exchanged,
    /// The file system cannot exchange names, but from the last check to the rename, nobody could have the
    /// file open for writing.
    Guarded,
    /// Neither was possible: if another program wrote to the file just before the rename, those bytes are
    /// lost.
    Renamed,
}

/// Replaces each file with its temporary file, in the given order, and adds the method of each replacement to
/// `methods`. The old files still exist, under the temporary names or as backups.
///
/// The error is [`StoreErrorKind::Changed`] for a file that is no longer what was locked (device, inode,
/// size, mtime), or that another program has opened for writing.
pub(super) fn exchange(files: &[&Replacement], methods: &mut Vec<Method>) -> Result<(), StoreError> {
    for file in files {
        methods.push(replace(file)?);
    }
    Ok(())
}

impl Replacement {
    /// Tells whether this name belongs to the old file, the file still has the content that was read, and no
    /// program has it open for writing.
    fn is_what_was_read(&self, name: &Path) -> Result<bool, StoreError> {
        let (old, content) = (self.locked.file(), self.content.unsettled.as_ref());
        let is_unchanged = self.is_untouched()? && content.map_or(Ok(true), |content| content.is_in(old))?;
        // The name is checked last: even if writers are excluded, nothing prevents other programs from
        // replacing the file.
        let named = os::identity_at(&self.place.directory, name);
        let named = named.context(Operation::Replace, self.place.path())?;
        Ok(is_unchanged && named.same_file(old.identity()))
    }

    /// Tells whether the place's name still belongs to the old file, the file still has the content that was
    /// read, and no program has it open for writing. The file is read again by its name.
    ///
    /// This is the last check where names cannot be exchanged. Inode numbers and times do not suffice for it:
    /// some file systems make the number from the path, keep times in seconds, or report both from a cache.
    fn is_there_unchanged(&self) -> Result<bool, StoreError> {
        let named = self.place.open_file(false)?;
        os::ask_anew(named.file());
        let named = named.refreshed()?;
        let old = self.locked.file();
        let is_unchanged = named.identity().same_file(old.identity())
            && digest_of(&named)? == self.content.old
            && self.is_untouched()?;
        // The name is checked last, since nothing prevents other programs from replacing the file.
        let now = os::identity_at(&self.place.directory, Path::new(self.place.name()));
        Ok(is_unchanged && now.context(Operation::Replace, self.place.path())?.same_file(named.identity()))
    }

    /// Tells whether no program has the old file open for writing, and its size and times are those at the
    /// read. Its name does not matter.
    fn is_untouched(&self) -> Result<bool, StoreError> {
        let old = self.locked.file();
        // The check for writers comes first: as long as there are none, the size and times that are read next
        // do not change.
        if os::is_open_for_writing(old.file()) == Some(true) {
            return Ok(false);
        }
        self.has_its_times()
    }

    /// Tells whether the old file has the same size and times as when it was read. Its name does not matter.
    fn has_its_times(&self) -> Result<bool, StoreError> {
        let old = self.locked.file();
        let now = os::identity_of(old.file()).context(Operation::Replace, self.place.path())?;
        Ok(now.same_content(old.identity()))
    }

    fn backup(&self) -> OsString {
        self.content.temporary.id().name_of_old()
    }

    /// Checks again that the old file is unchanged since it was read; if not, the error is
    /// [`StoreErrorKind::Changed`]. A program that was opening the file by name during the exchange may have
    /// it open only now.
    pub(super) fn check(&self, method: Method) -> Result<(), StoreError> {
        // If no program could have the file open for writing up to the rename, none has it now: since the
        // rename the file cannot be opened by its name.
        let is_unchanged = if method == Method::Guarded { self.has_its_times() } else { self.is_untouched() };
        if is_unchanged? {
            return Ok(());
        }
        Err(StoreError::new(Operation::Replace, self.place.path(), StoreErrorKind::Changed))
    }

    /// Unlinks the old file, which ends the commit. Returns whether it is gone.
    pub(super) fn unlink_old(&self, method: Method) -> bool {
        let directory = &self.place.directory;
        if method == Method::Exchanged {
            return unlink_if(directory, self.content.temporary.name(), self.locked.file().identity());
        }
        // The name was drawn at random, so the file is the call's own. Its inode number could not be checked:
        // on sshfs, mergerfs and unionfs, each name has its own inode number.
        unlink(directory, Path::new(&self.backup()))
    }
}

fn replace(staged: &Replacement) -> Result<Method, StoreError> {
    let (place, temporary) = (&staged.place, &staged.content.temporary);
    let (directory, name) = (&place.directory, Path::new(place.name()));
    // If another program has replaced the file, another process of this server can hold the lock of the
    // replacement and be here at the same time. Each must check the file that it got, and exchange it back if
    // it is the wrong one, before the other exchanges names.
    let _one_at_a_time = lock_directory(directory, place.path())?;
    match os::exchange(directory, name, temporary.name()) {
        Ok(()) => {
            // The check is repeated now that no program can open the old file by its name any more.
            let looked = staged.is_what_was_read(temporary.name());
            if let Ok(true) = looked {
                return Ok(Method::Exchanged);
            }
            let is_new = || Ok(temporary.digest()? == staged.content.new);
            // An error is ignored: the rollback of the call examines the names itself.
            exchange_back(place, temporary.name(), *temporary.identity(), is_new).ok();
            looked?;
            Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed))
        }
        Err(error) if os::is_unsupported(&error) => rename_over(staged),
        Err(error) => Err(StoreError::from_io(Operation::Replace, place.path(), error)),
    }
}

/// Renames the temporary file to the file's name. Returns [`Method::Guarded`] if no program could have the
/// old file open for writing at the rename.
///
/// Waits for programs that hold the old file open in a way that prevents removing its names (Windows). Other
/// programs can do anything between two attempts, so each attempt repeats all steps and checks.
fn rename_over(staged: &Replacement) -> Result<Method, StoreError> {
    let place = &staged.place;
    let mut patience = Patience::default();
    loop {
        let failed = match os::check_may_lose_a_name(staged.locked.file().file()) {
            Ok(()) => match try_rename_over(staged)? {
                Ok(method) => return Ok(method),
                Err(failed) => failed,
            },
            // A second name could not be removed again either, so none is created.
            Err(held) => held,
        };
        // The backup stays: a file server may have carried out a rename that it reported as failed.
        if !patience.waits_for(&failed) {
            return Err(StoreError::from_io(Operation::Replace, place.path(), failed));
        }
        unlink(&place.directory, Path::new(&staged.backup()));
    }
}

/// Makes one attempt. The inner error is the error of the rename.
fn try_rename_over(staged: &Replacement) -> Result<io::Result<Method>, StoreError> {
    let (place, temporary) = (&staged.place, &staged.content.temporary);
    let (directory, name) = (&place.directory, Path::new(place.name()));
    let old = staged.locked.file().file();
    let changed = || StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed);
    back_up(staged)?;
    let guarded = || {
        let guard = match os::refuse_writers(old) {
            // Another program has it open for writing. The next attempt of the edit examines that.
            Err(error) if os::is_held_open(&error) => return Err(changed()),
            guard => guard.context(Operation::Replace, place.path())?,
        };
        // While no program can write to the file, its times are enough to tell whether one has.
        let is_unchanged =
            if guard.is_some() { staged.is_what_was_read(name) } else { staged.is_there_unchanged() };
        if is_unchanged? { Ok(guard) } else { Err(changed()) }
    };
    let guard = guarded().inspect_err(|_| {
        // The old file still has its name, so the backup is not needed.
        unlink(directory, Path::new(&staged.backup()));
    })?;
    let renamed = rename_once(directory, temporary.name(), name);
    let method = if guard.is_some() { Method::Guarded } else { Method::Renamed };
    drop(guard);
    Ok(renamed.map(|()| method).map_err(|error| os::why_not_renamed(old, error)))
}

/// Gives the old file a second name or, where there are no hard links, copies it.
fn back_up(staged: &Replacement) -> Result<(), StoreError> {
    let (place, old, name) = (&staged.place, staged.locked.file(), staged.backup());
    if hard_link(&place.directory, place.name(), &name).is_ok() {
        return Ok(());
    }
    let id = staged.content.temporary.id();
    let mut copy = Temporary::create_in(&place.directory, (id, name), place.path(), 0o600)?;
    // An error is ignored, for the reason given below for the metadata.
    let _ = copy.keep_flags(old);
    copy.copy_range(old, 0..old.size())?;
    // Metadata that the copy cannot get, the new file could not get either, and the call reports that.
    let _ = copy.keep_metadata(old)?;
    // If the new content is on disk after a power cut, the old content must be on disk, too.
    copy.sync()?;
    copy.sync_directory()?;
    copy.leave();
    Ok(())
}

/// Gives the name of `place` back to the file that has the temporary name. So far, the new file, `last_in`,
/// has the name of `place`. If `is_new` says that another program has written to the new file, the new file
/// keeps the name.
pub(super) fn exchange_back(
    place: &WritablePlace,
    temporary: &Path,
    last_in: Identity,
    is_new: impl FnOnce() -> io::Result<bool>,
) -> io::Result<()> {
    let directory = &place.directory;
    let swap = || os::exchange(directory, Path::new(place.name()), temporary);
    let old = os::identity_at(directory, temporary)?;
    swap_until_settled(directory, temporary, last_in, swap)?;
    if is_new()? { Ok(()) } else { swap_until_settled(directory, temporary, old, swap) }
}

/// Exchanges a file with `temporary`, by `swap`, until the file that comes out is the file that the previous
/// exchange put in (`last_in` for the first). So no other program's file stays under the temporary name.
fn swap_until_settled(
    directory: &Dir,
    temporary: &Path,
    mut last_in: Identity,
    swap: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    for _ in 0..SWAPS {
        let next_in = os::identity_at(directory, temporary)?;
        swap()?;
        if os::identity_at(directory, temporary)?.same_file(&last_in) {
            return Ok(());
        }
        last_in = next_in;
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Waits until the names in the directories of these places are on disk, once for each directory.
pub(crate) fn sync_directories_of<'a>(
    places: impl Iterator<Item = &'a WritablePlace>,
) -> Result<(), StoreError> {
    let mut synced = BTreeSet::new();
    for place in places {
        let key = os::key_of_directory(&place.directory).context(Operation::Sync, place.path())?;
        if synced.insert(key) {
            os::sync_directory(&place.directory).context(Operation::Sync, place.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::tests::world::World;

    /// Before each exchange, another program renames its own file over the name.
    #[test]
    fn of_a_lost_race_the_newest_file_stays_and_one_without_end_is_given_up() {
        for others in [1, 2, 3, 2 * SWAPS] {
            let world = World::new();
            world.write("@/root/new", "new");
            world.write("@/root/a", "old");
            let directory = &world.place("@/root/a").directory;
            let left = RefCell::new(1..=others);
            let swap = || {
                if let Some(number) = left.borrow_mut().next() {
                    directory.write("other", number.to_string())?;
                    directory.rename("other", directory, "a")?;
                }
                os::exchange(directory, Path::new("a"), Path::new("new"))
            };
            swap().unwrap();
            let last_in = os::identity_at(directory, Path::new("a")).unwrap();
            let settled = swap_until_settled(directory, Path::new("new"), last_in, swap);
            if others < SWAPS {
                assert_eq!(world.content("@/root/a"), others.to_string());
            } else {
                assert_eq!(settled.unwrap_err().kind(), io::ErrorKind::ResourceBusy);
            }
        }
    }
}
