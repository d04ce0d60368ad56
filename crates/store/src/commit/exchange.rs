//! Puts new content in the place of old, for all files of a call or for none: [`exchange`].
//!
//! The new content is complete, and synced if asked, beside the old file before the two change names.
//! `transaction.rs` decides what is recorded for recovery, and when the call is committed; `overwrite.rs`
//! handles files that must keep their inode.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::access::place::WritablePlace;
use crate::commit::aside::Aside;
use crate::commit::displaced::keep_next_to;
use crate::commit::staged::{NewContent, Replacement};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::lock::{LockedFile, lock_directory};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{rename, rename_once};
use crate::os::patience::Patience;
use crate::read::hash::digest_of;
use crate::stage::temporary::unlink_if;

/// The most swaps of names in a race with another program before the attempt is given up.
const SWAPS: usize = 64;

/// The ways in which a file was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// The two files changed names in one step, and what came out was what had been read.
    Exchanged,
    /// Names cannot be exchanged, but from the last check to the rename nobody could have the file open for
    /// writing.
    Guarded,
    /// Neither was possible: what another program wrote in the last instant would be lost.
    Renamed,
}

/// Puts each temporary in the place of its file, in the order given; the old files stay, under the
/// temporaries' names.
///
/// If one fails, those before it are put back, so that nothing has changed. The error is
/// [`StoreErrorKind::Changed`] for a file that is no longer what was locked (device, inode, size, mtime), or
/// that another program has opened for writing.
pub(crate) fn exchange(staged: Vec<Replacement>) -> Result<Exchanged, StoreError> {
    exchange_with(staged, os::exchange, rename_once)
}

/// A function that exchanges two names in a directory, or renames the first to the second. An exchange gets
/// the file's name first and then the temporary's; a rename gets them the other way round.
pub(crate) type Swap = fn(&Dir, &Path, &Path) -> io::Result<()>;

fn exchange_with(staged: Vec<Replacement>, swap: Swap, rename: Swap) -> Result<Exchanged, StoreError> {
    let mut exchanged = Exchanged { replaced: Vec::new(), swap };
    for file in staged {
        match replace(file, swap, rename) {
            Ok(replaced) => exchanged.replaced.push(replaced),
            Err(error) => return Err(exchanged.roll_back(error)),
        }
    }
    Ok(exchanged)
}

/// Files that have their new content, while the old is still there. Dropping it puts the old files back.
#[derive(Debug)]
#[must_use = "dropping it puts the old files back"]
pub(crate) struct Exchanged {
    replaced: Vec<Replaced>,
    swap: Swap,
}

#[derive(Debug)]
struct Replaced {
    staged: Replacement,
    old: Old,
}

/// The place of the old file.
#[derive(Debug)]
enum Old {
    /// Under the temporary's name.
    Exchanged,
    /// Under a second name, or in a copy. True if nobody could be writing to it when it lost its first name.
    Aside(Aside, bool),
}

/// The state of a file's name some time after a rename has replaced the file.
enum Standing {
    /// The new content, as it was made.
    New,
    /// The new file, to which another program has written.
    Written,
    /// Another program's file, or nothing.
    Theirs,
    /// It cannot be examined.
    Unknown,
}

impl Replaced {
    /// Returns where the new and the old content are until the old file is put back.
    fn left(&self) -> [LeftBehind; 2] {
        let path = self.staged.place.path();
        let aside = match &self.old {
            Old::Exchanged => self.staged.content.temporary.name(),
            Old::Aside(aside, _) => aside.name(),
        };
        let kept = LeftBehind::new(&path.with_file_name(aside), Remains::Old(path.to_owned()));
        [LeftBehind::new(path, Remains::Changed), kept]
    }
}

impl Replacement {
    /// Tells whether this name means the old file, the file holds what was read, and no program has it open
    /// for writing.
    fn is_what_was_read(&self, name: &Path) -> Result<bool, StoreError> {
        let (old, content) = (self.locked.file(), self.content.unsettled.as_ref());
        let is_unchanged = self.is_untouched()? && content.map_or(Ok(true), |content| content.is_in(old))?;
        // Last: writers may be kept out, but nobody can be kept from replacing the file.
        let named = os::identity_at(&self.place.directory, name);
        let named = named.context(Operation::Replace, self.place.path())?;
        Ok(is_unchanged && named.same_file(old.identity()))
    }

    /// Tells whether the place's name still means the old file, the file still holds what was read, and no
    /// program has it open for writing. The file is read again by its name.
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
        // Last, since nobody can be kept from replacing the file.
        let now = os::identity_at(&self.place.directory, Path::new(self.place.name()));
        Ok(is_unchanged && now.context(Operation::Replace, self.place.path())?.same_file(named.identity()))
    }

    /// Returns what has the place's name after the new file was renamed to it.
    fn standing(&self) -> Standing {
        use StoreErrorKind::{Changed, IsADirectory, NotARegularFile, NotFound};
        let NewContent { temporary, new, .. } = &self.content;
        let at = match self.place.identity() {
            Err(error) if error.kind == NotFound => return Standing::Theirs,
            Err(_) => return Standing::Unknown,
            Ok(at) => at,
        };
        let is_ours = at.same_file(temporary.identity())
            || os::identity_of(temporary.file()).is_ok_and(|own| at.same_file(&own));
        if is_ours {
            // It is not opened by its name: the process may have no descriptor left.
            return match self.is_new_untouched() {
                Ok(true) => Standing::New,
                Ok(false) => Standing::Written,
                Err(_) => Standing::Unknown,
            };
        }
        if os::identity_lasts(&self.place.directory) {
            return Standing::Theirs;
        }
        // Some file systems make the inode number from the path, so the rename has changed it.
        match self.place.open_file(false).and_then(|named| digest_of(&named)) {
            Ok(digest) if digest == *new => Standing::New,
            Ok(_) => Standing::Theirs,
            Err(error)
                if matches!(error.kind, NotFound | Changed | IsADirectory | NotARegularFile { .. }) =>
            {
                Standing::Theirs
            }
            Err(_) => Standing::Unknown,
        }
    }

    /// Tells whether no program has the old file open for writing, and its size and times are those of what
    /// was read. Its name does not matter.
    fn is_untouched(&self) -> Result<bool, StoreError> {
        let old = self.locked.file();
        // Writers are looked for first: as long as there are none, the state that is read next does not
        // change.
        if os::is_open_for_writing(old.file()) == Some(true) {
            return Ok(false);
        }
        self.has_its_times()
    }

    /// Tells whether the old file has the size and times of what was read. Its name does not matter.
    fn has_its_times(&self) -> Result<bool, StoreError> {
        let old = self.locked.file();
        let now = os::identity_of(old.file()).context(Operation::Replace, self.place.path())?;
        Ok(now.same_content(old.identity()))
    }

    /// Tells whether no program has written to the new file while it had the name.
    fn is_new_untouched(&self) -> Result<bool, StoreError> {
        let digest = self.content.temporary.digest().context(Operation::Restore, self.place.path())?;
        Ok(digest == self.content.new)
    }
}

fn replace(staged: Replacement, swap: Swap, rename: Swap) -> Result<Replaced, StoreError> {
    let (place, temporary) = (&staged.place, &staged.content.temporary);
    let (directory, name) = (&place.directory, Path::new(place.name()));
    // If another program has replaced the file, another process of this server can hold the lock of the new
    // file and be here at the same time. Each must check what it got before the other swaps names.
    let _one_at_a_time = lock_directory(directory, place.path())?;
    match swap(directory, name, temporary.name()) {
        Ok(()) => {
            // The check is repeated now that no program can open the old file by its name any more.
            let looked = staged.is_what_was_read(temporary.name());
            if let Ok(true) = looked {
                return Ok(Replaced { old: Old::Exchanged, staged });
            }
            if let Err(error) = put_back(&staged, swap) {
                staged.content.temporary.leave();
                return Err(error);
            }
            looked?;
            Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed))
        }
        Err(error) if os::is_unsupported(&error) => {
            let (aside, is_guarded) = rename_over(&staged, rename)?;
            Ok(Replaced { old: Old::Aside(aside, is_guarded), staged })
        }
        Err(error) => Err(StoreError::from_io(Operation::Replace, place.path(), error)),
    }
}

/// Renames the temporary to the file's name. Returns what keeps the old file, and whether nobody could have
/// the old file open for writing in the last instant.
///
/// Waits for programs that hold the old file open in a way that keeps it from losing a name. Other programs
/// can do anything between two tries, so each try does and checks everything anew.
fn rename_over(staged: &Replacement, rename: Swap) -> Result<(Aside, bool), StoreError> {
    let place = &staged.place;
    let mut patience = Patience::default();
    loop {
        let failed = match os::check_may_lose_a_name(staged.locked.file().file()) {
            Ok(()) => match try_rename_over(staged, rename)? {
                Ok(renamed) => return Ok(renamed),
                Err(failed) => failed,
            },
            // It could not lose a second name again either, so it gets none.
            Err(held) => held,
        };
        if !patience.waits_for(&failed) {
            return Err(StoreError::from_io(Operation::Replace, place.path(), failed));
        }
    }
}

/// Tries once. The inner error is that of the rename.
fn try_rename_over(staged: &Replacement, rename: Swap) -> Result<io::Result<(Aside, bool)>, StoreError> {
    let (place, temporary) = (&staged.place, &staged.content.temporary);
    let (directory, name) = (&place.directory, Path::new(place.name()));
    let old = staged.locked.file().file();
    let changed = || StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed);
    let aside = Aside::of(staged)?;
    let guard = match os::refuse_writers(old) {
        // The next attempt finds out who is writing.
        Err(error) if os::is_held_open(&error) => return Err(changed()),
        guard => guard.context(Operation::Replace, place.path())?,
    };
    // While nobody can write to the file, its times tell whether somebody has.
    let is_unchanged =
        if guard.is_some() { staged.is_what_was_read(name) } else { staged.is_there_unchanged() };
    if !is_unchanged? {
        return Err(changed());
    }
    let renamed = rename(directory, temporary.name(), name);
    let is_guarded = guard.is_some();
    drop(guard);
    let renamed = renamed.map_err(|error| os::why_not_renamed(old, error));
    Ok(renamed.map(|()| (aside, is_guarded)))
}

/// Gives the old file its name back. Swaps until what comes out is what was last put in, so that no other
/// program's file is left under the temporary's name.
///
/// If another program has written to the new file, the new file gets the name again, the old one gets a name
/// beside it, and the error is [`StoreErrorKind::Displaced`].
fn put_back(staged: &Replacement, swap: Swap) -> Result<(), StoreError> {
    let Replacement { place, content: NewContent { temporary, .. }, locked } = staged;
    swap_until_settled(place, temporary.name(), *temporary.identity(), swap)?;
    if staged.is_new_untouched().map_err(|error| error.not_restored(perhaps_made(place, temporary.name())))? {
        return Ok(());
    }
    swap_until_settled(place, temporary.name(), *locked.file().identity(), swap)?;
    let changed = StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed);
    Err(keep_old(place, temporary.name(), changed))
}

/// Leaves the new file under its name, because another program has written to it. Gives the old file, which
/// is at `aside`, a name beside it. Returns the error that names both.
fn keep_old(place: &WritablePlace, aside: &Path, cause: StoreError) -> StoreError {
    let changed = LeftBehind::new(place.path(), Remains::Changed);
    let mut error = keep_next_to(place, aside, Remains::Old(place.path().to_owned()), cause)
        .unwrap_or_else(|not_restored| not_restored);
    error.left.retain(|left| left.path != changed.path);
    error.left.insert(0, changed);
    error
}

/// Returns the name of a file beside this one that cannot be examined: it is the call's own, or another
/// program's.
fn perhaps_made(place: &WritablePlace, temporary: &Path) -> [LeftBehind; 1] {
    [LeftBehind::new(&place.path().with_file_name(temporary), Remains::PerhapsMade)]
}

/// Swaps the place's file with `temporary` until what comes out is what was last put in. At first that is
/// `last_in`.
pub(crate) fn swap_until_settled(
    place: &WritablePlace,
    temporary: &Path,
    last_in: Identity,
    swap: Swap,
) -> Result<(), StoreError> {
    let (directory, name) = (&place.directory, Path::new(place.name()));
    let mut last_in = last_in;
    let failed = |source| {
        let changed = LeftBehind::new(place.path(), Remains::Changed);
        let kept =
            LeftBehind::new(&place.path().with_file_name(temporary), Remains::Old(place.path().to_owned()));
        StoreError::from_io(Operation::Restore, place.path(), source).not_restored([changed, kept])
    };
    for _ in 0..SWAPS {
        let next_in = os::identity_at(directory, temporary).map_err(failed)?;
        swap(directory, name, temporary).map_err(failed)?;
        let out = os::identity_at(directory, temporary).map_err(|source| {
            StoreError::from_io(Operation::Restore, place.path(), source)
                .not_restored(perhaps_made(place, temporary))
        })?;
        if out.same_file(&last_in) {
            return Ok(());
        }
        last_in = next_in;
    }
    Err(failed(io::ErrorKind::ResourceBusy.into()))
}

impl Exchanged {
    /// Returns how each file was replaced, in the order of the commit.
    #[must_use]
    pub(crate) fn methods(&self) -> Vec<Method> {
        let method = |replaced: &Replaced| match replaced.old {
            Old::Exchanged => Method::Exchanged,
            Old::Aside(_, true) => Method::Guarded,
            Old::Aside(_, false) => Method::Renamed,
        };
        self.replaced.iter().map(method).collect()
    }

    /// Checks again that the old files are what was read; if not, the error is [`StoreErrorKind::Changed`]. A
    /// program that was opening one by its name during the exchange may have it open only now.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        for Replaced { staged, old } in &self.replaced {
            // If nobody could have it open for writing up to the rename, nobody has: since then it cannot be
            // opened by its name.
            let is_guarded = matches!(old, Old::Aside(_, true));
            if !(if is_guarded { staged.has_its_times() } else { staged.is_untouched() })? {
                let path = staged.place.path();
                return Err(StoreError::new(Operation::Replace, path, StoreErrorKind::Changed));
            }
        }
        Ok(())
    }

    /// Waits until the names are on disk, once for each directory.
    pub(crate) fn sync_directories(&self) -> Result<(), StoreError> {
        sync_directories_of(self.replaced.iter().map(|replaced| &replaced.staged.place))
    }

    /// Unlinks the old files, which ends the commit. A file that cannot be unlinked is no error, since the
    /// new content is in place.
    ///
    /// Returns the locks on them, and whether all are gone.
    #[must_use = "dropping them lets go of the files"]
    pub(crate) fn finish(mut self) -> (Vec<Arc<LockedFile>>, bool) {
        let replaced = std::mem::take(&mut self.replaced).into_iter();
        let mut is_clean = true;
        let finish = |Replaced { staged, old }: Replaced| {
            let Replacement { place, content: NewContent { temporary, .. }, locked } = staged;
            is_clean &= match old {
                Old::Exchanged => unlink_if(&place.directory, temporary.name(), locked.file().identity()),
                Old::Aside(aside, _) => aside.remove(),
            };
            locked
        };
        let locked = replaced.map(finish).collect();
        (locked, is_clean)
    }

    /// Leaves everything as it is for recovery; returns where the new and the old content are.
    pub(crate) fn leave(mut self) -> Vec<LeftBehind> {
        let replaced = std::mem::take(&mut self.replaced).into_iter();
        let leave = |one: Replaced| {
            let left = one.left();
            let Replaced { staged, old } = one;
            staged.content.temporary.leave();
            if let Old::Aside(aside, _) = old {
                aside.leave();
            }
            left
        };
        replaced.flat_map(leave).collect()
    }

    /// Puts the old files back, the last first, because of `cause`, and returns the error to report: `cause`
    /// or, if a file could not be put back, [`StoreErrorKind::NotRestored`].
    #[must_use = "it says whether anything was left changed"]
    pub(crate) fn roll_back(mut self, cause: StoreError) -> StoreError {
        self.put_all_back().into_iter().fold(cause, |cause, failed| {
            let is_for_good = failed.kind == StoreErrorKind::Displaced
                && (cause.left.is_empty() || cause.kind == StoreErrorKind::Displaced);
            let mut error = cause.not_restored(failed.left);
            if is_for_good {
                error.kind = StoreErrorKind::Displaced;
            }
            error
        })
    }

    fn put_all_back(&mut self) -> Vec<StoreError> {
        let mut failed = Vec::new();
        while let Some(one) = self.replaced.pop() {
            let left = one.left();
            let Replaced { staged, old } = one;
            let place = &staged.place;
            let (directory, name) = (&place.directory, Path::new(place.name()));
            // An error is ignored: no process of this server holds this lock until the wait ends.
            let _one_at_a_time = lock_directory(directory, place.path()).ok();
            let not_restored = |error: StoreError| error.not_restored(left);
            let unknown = || StoreError::new(Operation::Restore, place.path(), StoreErrorKind::Io);
            let back = match &old {
                Old::Exchanged => put_back(&staged, self.swap),
                Old::Aside(aside, _) => match staged.standing() {
                    // Another program's file stays, as it would after a call that succeeded.
                    Standing::Theirs => Ok(()),
                    Standing::Written => Err(keep_old(place, aside.name(), unknown())),
                    Standing::Unknown => Err(not_restored(unknown())),
                    Standing::New => rename(directory, aside.name(), name).map_err(|error| {
                        not_restored(StoreError::from_io(Operation::Restore, place.path(), error))
                    }),
                },
            };
            if let Err(error) = back {
                failed.push(error);
                // Recovery needs them: no other copy has the old bytes, or another program's.
                match old {
                    Old::Aside(aside, _) => aside.leave(),
                    Old::Exchanged => staged.content.temporary.leave(),
                }
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
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    #[cfg(unix)]
    use std::cell::{Cell, RefCell};
    #[cfg(unix)]
    use std::io::Write as _;

    use mcp_text_editor_core::digest::Digest;

    use super::*;
    use crate::access::roots::Roots;
    use crate::lock::{LockTimeout, lock};
    use crate::stage::temporary::{PREFIX, Temporary, TemporaryId};
    #[cfg(unix)]
    use crate::tests::world::as_user;

    /// Files `a`, `b`, `c` with "old", each staged with "new".
    fn three() -> (tempfile::TempDir, Vec<Replacement>) {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
        let staged = ["a", "b", "c"].map(|name| {
            let path = directory.path().join(name);
            std::fs::write(&path, "old").unwrap();
            let place = roots.resolve_for_writing(path.to_str().unwrap()).unwrap();
            let locked = lock(&place, &LockTimeout::default()).unwrap();
            let mut temporary = Temporary::create(&place, TemporaryId::draw()).unwrap();
            temporary.write_all(b"new").unwrap();
            let (new, old) = (Digest::of(b"new"), Digest::of(b"old"));
            Replacement {
                place,
                content: NewContent { temporary, in_place: None, old, new, unsettled: None },
                locked: locked.into(),
            }
        });
        (directory, staged.into())
    }

    fn state(directory: &tempfile::TempDir) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
        let mut state: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let name = if name.starts_with(PREFIX) { PREFIX.to_owned() } else { name };
                let name = name.split_inclusive(".displaced").next().map(str::to_owned).unwrap_or(name);
                (name, std::fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        state.sort();
        state
    }

    /// Returns the names of the files that an error says have been left with new content.
    #[cfg(unix)]
    fn changed_by(error: &StoreError) -> Vec<&std::ffi::OsStr> {
        let changed = error.left.iter().filter(|left| left.what == Remains::Changed);
        changed.filter_map(|left| left.path.file_name()).collect()
    }

    fn pairs<const N: usize>(state: [(&str, &str); N]) -> Vec<(String, String)> {
        state.map(|(name, content)| (name.to_owned(), content.to_owned())).into()
    }

    fn cannot(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[test]
    fn without_an_exchange_the_old_file_waits_under_a_second_name() {
        let (directory, staged) = three();
        let exchanged = exchange_with(staged, cannot, rename_once).unwrap();
        // Windows can refuse writers meanwhile.
        let method = if cfg!(windows) { Method::Guarded } else { Method::Renamed };
        assert_eq!(exchanged.methods(), [method; 3]);
        let (old, new) = ((PREFIX, "old"), "new");
        assert_eq!(state(&directory), pairs([old, old, old, ("a", new), ("b", new), ("c", new)]));
        drop(exchanged.finish());
        assert_eq!(state(&directory), pairs([("a", new), ("b", new), ("c", new)]));

        let (directory, staged) = three();
        drop(exchange_with(staged, cannot, rename_once).unwrap());
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));

        let (directory, staged) = three();
        std::fs::remove_file(staged[2].content.temporary.path()).unwrap();
        assert_eq!(exchange_with(staged, cannot, rename_once).unwrap_err().kind, StoreErrorKind::NotFound);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));

        let (directory, staged) = three();
        std::fs::write(directory.path().join("b"), "other").unwrap();
        assert_eq!(exchange_with(staged, cannot, rename_once).unwrap_err().kind, StoreErrorKind::Changed);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "other"), ("c", "old")]));

        // The second name is one of another program's file. It is removed all the same.
        let (directory, staged) = three();
        std::fs::write(directory.path().join("theirs"), "other").unwrap();
        std::fs::rename(directory.path().join("theirs"), directory.path().join("b")).unwrap();
        assert_eq!(exchange_with(staged, cannot, rename_once).unwrap_err().kind, StoreErrorKind::Changed);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "other"), ("c", "old")]));
    }

    /// Windows refuses writers instead, and then looks at size and times, as where names can be exchanged.
    #[test]
    #[cfg(unix)]
    fn without_an_exchange_the_file_is_read_once_more() {
        // Another program has written, and set size and times back to what they were.
        let (directory, staged) = three();
        let path = directory.path().join("c");
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "OLD").unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(exchange_with(staged, cannot, rename_once).unwrap_err().kind, StoreErrorKind::Changed);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "OLD")]));
    }

    #[test]
    fn what_was_written_after_a_rename_stays() {
        type Write = fn(&std::path::Path);
        // Written over the new file; another file in its place; no file any more.
        let ways: [(Write, Option<&str>, bool); 3] = [
            (|path| std::fs::write(path, "theirs").unwrap(), Some("theirs"), true),
            (
                |path| {
                    std::fs::remove_file(path).unwrap();
                    std::fs::write(path, "theirs").unwrap();
                },
                Some("theirs"),
                false,
            ),
            (|path| std::fs::remove_file(path).unwrap(), None, false),
        ];
        for (write, b, is_told) in ways {
            let (directory, staged) = three();
            let exchanged = exchange_with(staged, cannot, rename_once).unwrap();
            write(&directory.path().join("b"));
            let cause = StoreError::new(Operation::Sync, directory.path(), StoreErrorKind::Io);
            let error = exchanged.roll_back(cause);
            assert_eq!(error.kind == StoreErrorKind::Displaced, is_told);
            let now = |name: &str| std::fs::read_to_string(directory.path().join(name)).ok();
            assert_eq!(
                (now("a").as_deref(), now("b").as_deref(), now("c").as_deref()),
                (Some("old"), b, Some("old"))
            );
            let kept: Vec<_> = state(&directory).into_iter().filter(|(name, _)| name.len() > 1).collect();
            assert_eq!(kept, if is_told { pairs([("b.displaced", "old")]) } else { Vec::new() });
        }
    }

    #[test]
    #[cfg(unix)]
    fn what_has_the_name_of_the_new_file_by_then_stays() {
        use std::os::unix::fs::PermissionsExt as _;

        type Make = fn(&std::path::Path);
        let permit = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        // A directory, and a file that this user may not read.
        let ways: [(Make, Option<u32>); 2] = [
            (|path| std::fs::create_dir(path).unwrap(), None),
            (|path| std::fs::write(path, "theirs").unwrap(), Some(1000)),
        ];
        for (make, user) in ways {
            let (directory, staged) = three();
            let exchanged = exchange_with(staged, cannot, rename_once).unwrap();
            let b = directory.path().join("b");
            std::fs::remove_file(&b).unwrap();
            make(&b);
            permit(directory.path(), 0o777);
            permit(&b, 0o700);
            let cause = StoreError::new(Operation::Sync, directory.path(), StoreErrorKind::Io);
            let roll_back = || exchanged.roll_back(cause);
            let error = match user {
                None => Some(roll_back()),
                Some(user) => as_user(user, roll_back),
            };
            let Some(error) = error else { return };
            assert_eq!((changed_by(&error).len(), error.kind), (0, StoreErrorKind::Io));
            assert!(b.is_dir() || std::fs::read_to_string(&b).unwrap() == "theirs");
            for name in ["a", "c"] {
                assert_eq!(std::fs::read_to_string(directory.path().join(name)).unwrap(), "old");
            }
            let names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let old = names.filter(|name| name.to_str().unwrap().ends_with("-old")).count();
            assert_eq!(old, 0);
        }
    }

    #[cfg(unix)]
    thread_local! {
        static SWAPS_LEFT: Cell<usize> = const { Cell::new(0) };
        /// The contents that other programs rename over the file before each of the next swaps.
        static OUTSIDERS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    #[cfg(unix)]
    fn what_cannot_be_put_back_is_told() {
        fn only_so_often(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            let left = SWAPS_LEFT.get();
            SWAPS_LEFT.set(left.saturating_sub(1));
            if left == 0 { Err(io::Error::other("broken")) } else { os::exchange(directory, file, temporary) }
        }
        let (directory, staged) = three();
        SWAPS_LEFT.set(2);
        let error = exchange_with(staged, only_so_often, rename_once).unwrap_err();
        assert_eq!(changed_by(&error), ["b", "a"]);
        assert_eq!(error.kind, StoreErrorKind::NotRestored);
        assert_eq!(error.source.unwrap().to_string(), "broken");
        // The old content is not thrown away.
        let (old, new) = ((PREFIX, "old"), "new");
        assert_eq!(state(&directory), pairs([old, old, ("a", new), ("b", new), ("c", "old")]));
    }

    #[test]
    #[cfg(unix)]
    fn of_a_lost_race_the_newest_file_stays() {
        fn after_outsiders(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            if let Some(content) = OUTSIDERS.with_borrow_mut(Vec::pop) {
                directory.write("outsider", content)?;
                directory.rename("outsider", directory, file)?;
            }
            os::exchange(directory, file, temporary)
        }
        for outsiders in [vec!["1"], vec!["2", "1"], vec!["3", "2", "1"]] {
            let newest = outsiders[0];
            let (directory, mut staged) = three();
            staged.truncate(1);
            OUTSIDERS.set(outsiders);
            let error = exchange_with(staged, after_outsiders, rename_once).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Changed);
            let of_a = state(&directory).into_iter().find(|(name, _)| name == "a").unwrap();
            assert_eq!(of_a.1, newest);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_race_that_does_not_end_is_given_up() {
        fn after_an_outsider(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            directory.write("outsider", "theirs")?;
            directory.rename("outsider", directory, file)?;
            os::exchange(directory, file, temporary)
        }
        let (directory, mut staged) = three();
        staged.truncate(1);
        let error = exchange_with(staged, after_an_outsider, rename_once).unwrap_err();
        assert_eq!((changed_by(&error).len(), error.left.len()), (1, 2));
        assert_eq!(error.kind, StoreErrorKind::NotRestored);
        assert_eq!(error.source.unwrap().kind(), io::ErrorKind::ResourceBusy);
        let theirs = [(PREFIX, "theirs"), ("a", "theirs")];
        assert_eq!(state(&directory)[..2], pairs(theirs));
    }

    #[test]
    #[cfg(unix)]
    fn what_another_program_has_written_to_the_new_file_stays() {
        fn before_an_outsider(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
            os::exchange(directory, file, temporary)?;
            if let Some(content) = OUTSIDERS.with_borrow_mut(Vec::pop) {
                let mut options = cap_std::fs::OpenOptions::new();
                directory.open_with(file, options.append(true))?.write_all(content.as_bytes())?;
            }
            Ok(())
        }
        let written = |path: &str, directory: &tempfile::TempDir| {
            std::fs::write(directory.path().join(path), "other").unwrap();
        };
        // Another program writes to the new `a`. Then either `a` itself is found changed, or `b`, which comes
        // after it in the call.
        for changed in ["a", "b"] {
            let (directory, staged) = three();
            written(changed, &directory);
            OUTSIDERS.set(vec![" and more"]);
            let error = exchange_with(staged, before_an_outsider, rename_once).unwrap_err();
            assert_eq!(changed_by(&error), ["a"]);
            assert_eq!(error.kind, StoreErrorKind::Displaced);
            let (kept, b) = if changed == "a" { ("other", "old") } else { ("old", "other") };
            assert_eq!(
                state(&directory),
                pairs([("a", "new and more"), ("a.displaced", kept), ("b", b), ("c", "old")])
            );
        }
    }

    #[test]
    fn where_nothing_else_works_a_copy_is_kept_aside() {
        let (directory, staged) = three();
        let mut copy = Temporary::create(&staged[0].place, TemporaryId::draw()).unwrap();
        copy.copy_range(staged[0].locked.file(), 0..3).unwrap();
        let mut exchanged = exchange_with(staged, cannot, rename_once).unwrap();
        exchanged.replaced[0].old = Old::Aside(Aside::Copy(copy), false);
        drop(exchanged);
        assert_eq!(state(&directory), pairs([("a", "old"), ("b", "old"), ("c", "old")]));
    }
}
