//! Making a new file, which is complete before it has its name: [`Creation`].

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;

use crate::access::place::{OpenFile, WritablePlace};
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::commit::made::Made;
use crate::error::{Context as _, Left, NameFault, Operation, Remains, StoreError, StoreErrorKind};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{hard_link, remove_file, rename};
use crate::read::hash::digest_of;
use crate::stage::temporary::{Temporary, TemporaryId, unlink_if};

/// A file in the making, without its name. Dropping it removes it, and the directories that were made for it.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub(crate) struct Creation {
    place: WritablePlace,
    // In this order: the temporary must be gone before its directory can go.
    temporary: Temporary,
    made: Made,
}

/// A file that was created.
#[derive(Debug)]
pub(crate) struct Created {
    /// The new file, locked until this is dropped, where the file system has locks.
    pub file: OpenFile,
    /// The parent directories that were made for it, outermost first.
    pub directories: Vec<PathBuf>,
    /// The directory that it is in.
    pub(super) directory: Arc<Dir>,
}

impl Creation {
    /// Makes the missing parents (mode 0777 less the umask) and an empty file in the last (0666 less the umask).
    ///
    /// A place that was named by a symbolic link, even a dangling one, is [`StoreErrorKind::AlreadyExists`]. This first check only
    /// saves work; [`Creation::commit`] decides.
    pub(crate) fn begin(place: &WritablePlace, id: TemporaryId) -> Result<Self, StoreError> {
        Self::begin_with(place, id, 0o666)
    }

    /// As [`Creation::begin`]; the file is this user's alone until it is given other modes.
    pub(super) fn begin_copy(place: &WritablePlace, id: TemporaryId) -> Result<Self, StoreError> {
        Self::begin_with(place, id, 0o600)
    }

    /// Its bytes so far, and what else it is besides its name.
    pub(super) fn temporary(&mut self) -> &mut Temporary {
        &mut self.temporary
    }

    fn begin_with(place: &WritablePlace, id: TemporaryId, permissions: u32) -> Result<Self, StoreError> {
        let fail = |kind| Err(StoreError::new(Operation::Create, place.path(), kind));
        let exists = || place.missing.is_empty() && place.directory.symlink_metadata(place.name()).is_ok();
        if place.by_link || exists() {
            return fail(StoreErrorKind::AlreadyExists);
        }
        if place.ends_in_slash {
            let name = place.is_free().then_some(NameFault::SlashAfterNothing);
            let error = StoreError::new(Operation::Create, place.path(), StoreErrorKind::IsADirectory);
            return Err(StoreError { name, ..error });
        }
        check_directory(place)?;
        let mut attempts = Attempts::new(Cancellation::none());
        loop {
            let made = Made::below(place);
            let temporary = made.and_then(|made| {
                let named = (id, id.name());
                let temporary =
                    Temporary::create_in(made.innermost(place), named, place.path(), permissions)?;
                Ok((made, temporary))
            });
            match temporary {
                Ok((made, temporary)) => return Ok(Self { place: place.clone(), temporary, made }),
                Err(error)
                    if error.kind == StoreErrorKind::NotFound
                        && !place.missing.is_empty()
                        && attempts.count() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the content is on disk.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.temporary.sync()
    }

    /// Gives the file its name, unless that is taken, which the file system decides in one step. With `sync` the names are on disk
    /// when this returns.
    pub(crate) fn commit(self, sync: bool) -> Result<Created, StoreError> {
        self.commit_with(sync, &[rename_new, link, claim_and_rename])
    }

    fn commit_with(self, sync: bool, ways: &[Way]) -> Result<Created, StoreError> {
        // Dropped in reverse order: directories can be removed only after what is in them.
        let Self { place, mut made, temporary } = self;
        let directory = made.innermost(&place).clone();
        let name = Path::new(place.name());
        let mut named: io::Result<Named> = Err(io::ErrorKind::Unsupported.into());
        for way in ways {
            named = way(&directory, &temporary, name);
            if !named.as_ref().is_err_and(os::is_unsupported) {
                break;
            }
        }
        let (file, identity) = named.context(Operation::Create, place.path())?;
        let opened = OpenFile::new(file, place.path().to_owned());
        let named = opened.map_err(|error| (error, unlink_if(&directory, name, &identity)));
        drop(temporary);
        let synced = named.and_then(|file| {
            let sync_names = || os::sync_directory(&directory).and_then(|()| made.sync_parents());
            match if sync { sync_names() } else { Ok(()) } {
                Ok(()) => Ok(file),
                Err(error) => {
                    let error = StoreError::from_io(Operation::Sync, place.path(), error);
                    Err((error, unmake(&directory, name, file.identity())))
                }
            }
        });
        match synced {
            Ok(file) => Ok(Created { file, directories: made.keep(), directory }),
            Err((error, true)) => Err(error),
            Err((error, false)) => {
                made.keep();
                Err(error.not_restored([Left::new(place.path(), Remains::Made)]))
            }
        }
    }
}

impl Write for Creation {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

/// Checks that no mark on the directory keeps files from being made in it, or from being removed again if the call fails.
pub(crate) fn check_directory(place: &WritablePlace) -> Result<(), StoreError> {
    place.check_missing(Operation::Create)?;
    place.guard_of_directory().map_or(Ok(()), |by| Err(place.guarded(Operation::Create, by)))
}

/// A way to give a temporary a name that must be free; [`io::ErrorKind::Unsupported`] if the file system lacks it.
type Way = fn(&Dir, &Temporary, &Path) -> io::Result<Named>;

/// The file that got the name, and its identity from before another program could replace it.
type Named = (File, Identity);

/// Renames in one step; nothing is left under the temporary's name.
fn rename_new(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    os::rename_new(directory, temporary.name(), directory, name)?;
    Ok((file, *temporary.identity()))
}

/// Links: link(2) refuses any name that is taken, also that of a dangling link. Dropping the temporary removes its name.
fn link(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    hard_link(directory, temporary.name(), name).map_err(|error| match error.kind() {
        // FAT has no hard links and answers EPERM. If EPERM means something else, the next way fails with it, too.
        io::ErrorKind::PermissionDenied => io::Error::new(io::ErrorKind::Unsupported, error),
        _ => error,
    })?;
    Ok(by_its_name(directory, temporary, name).unwrap_or((file, *temporary.identity())))
}

/// Opens and locks the new file by its name where each link has an inode number of its own (sshfs, mergerfs), since a lock under the
/// temporary's name has no effect there. `None` on other file systems, and if another program has replaced the file already.
fn by_its_name(directory: &Dir, temporary: &Temporary, name: &Path) -> Option<Named> {
    if os::identity_at(directory, name).ok()?.same_file(temporary.identity()) {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = directory.open_with(name, &options).ok()?.into_std();
    let file =
        OpenFile::new(file, temporary.path().to_owned()).ok().filter(|file| file.metadata().is_file())?;
    if digest_of(&file).ok()? != temporary.digest().ok()? {
        return None;
    }
    os::try_lock(file.file()).ok();
    Some((file.file().try_clone().ok()?, *file.identity()))
}

/// Claims the name with an empty file and renames the temporary over that, on file systems that have no other way. What another
/// program writes to the empty file in between is lost.
fn claim_and_rename(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    // Another process of this server that edits the empty file gets this lock later, and then sees that the file is gone.
    let _one_at_a_time =
        lock_directory(directory, temporary.path()).map_err(|_| io::ErrorKind::ResourceBusy)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let claim = directory.open_with(name, &options)?.into_std();
    let claimed = os::identity_of(&claim)?;
    drop(claim);
    let is_empty_still = os::identity_at(directory, name).is_ok_and(|now| now.same_content(&claimed));
    if !is_empty_still {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    rename(directory, temporary.name(), name).inspect_err(|_| {
        unmake(directory, name, &claimed);
    })?;
    Ok((file, *temporary.identity()))
}

/// Removes the new file again, unless another program has written to it or replaced it. Returns whether nothing of it is left.
fn unmake(directory: &Dir, name: &Path, made: &Identity) -> bool {
    match os::identity_at(directory, name) {
        Ok(now) if now.same_file(made) => now.same_content(made) && remove_file(directory, name).is_ok(),
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use super::*;
    use crate::access::roots::Roots;
    use crate::tests::world::real;

    /// The ways that the system has; std's own rename replaces what is there.
    const WAYS: &[Way] =
        if cfg!(windows) { &[link, claim_and_rename] } else { &[rename_new, link, claim_and_rename] };

    #[test]
    fn every_way_is_complete_or_nothing() {
        for way in WAYS {
            let directory = tempfile::tempdir().unwrap();
            let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
            let place =
                roots.resolve_for_writing(directory.path().join("a/b/new").to_str().unwrap()).unwrap();
            let begin = || {
                let mut creation = Creation::begin(&place, TemporaryId::draw()).unwrap();
                creation.write_all(b"content").unwrap();
                creation
            };
            let names = |below: &str| {
                let entries = std::fs::read_dir(directory.path().join(below)).unwrap();
                entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
            };
            let error = begin().commit_with(true, &[]).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Io);
            assert!(names("").is_empty());

            let losing = begin();
            let unsupported: Way = |_, _, _| Err(io::ErrorKind::Unsupported.into());
            let created = begin().commit_with(true, &[unsupported, *way]).unwrap();
            assert!(created.directories.is_empty());
            assert_eq!(created.file.metadata().len(), 7);
            assert_eq!(std::fs::read(directory.path().join("a/b/new")).unwrap(), b"content");
            assert_eq!(losing.commit_with(true, &[*way]).unwrap_err().kind, StoreErrorKind::AlreadyExists);
            assert_eq!(names("a/b"), ["new"]);
        }
    }

    #[test]
    fn what_another_program_puts_under_the_name_stays() {
        /// Another program replaces the file in the moment in which it got its name.
        fn meanwhile(way: Way, directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
            let named = way(directory, temporary, name)?;
            directory.remove_file(name)?;
            // A link must not be followed either.
            #[cfg(unix)]
            directory.symlink("theirs", name)?;
            #[cfg(windows)]
            directory.write(name, "theirs")?;
            Ok(named)
        }
        let ways: &[Way] = &[
            #[cfg(unix)]
            |directory, temporary, name| meanwhile(rename_new, directory, temporary, name),
            |directory, temporary, name| meanwhile(link, directory, temporary, name),
            |directory, temporary, name| meanwhile(claim_and_rename, directory, temporary, name),
        ];
        for way in ways {
            let directory = tempfile::tempdir().unwrap();
            let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
            let file = real(directory.path()).join("new");
            let place = roots.resolve_for_writing(file.to_str().unwrap()).unwrap();
            let mut creation = Creation::begin(&place, TemporaryId::draw()).unwrap();
            creation.write_all(b"ours").unwrap();
            let created = creation.commit_with(true, &[*way]).unwrap();
            assert_eq!((created.file.metadata().len(), created.file.path()), (4, file.as_path()));
            #[cfg(unix)]
            assert_eq!(std::fs::read_link(&file).unwrap(), Path::new("theirs"));
            #[cfg(windows)]
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }
}
