//! Makes a new file, which is complete before it gets its name: [`Creation`].

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;

use crate::access::place::{OpenFile, WritablePlace};
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::commit::made::Made;
use crate::commit::remove::take_away;
use crate::error::{
    ErrorContext as _, LeftBehind, NameFault, Operation, Remains, StoreError, StoreErrorKind,
};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{hard_link, remove_file, rename};
use crate::read::hash::digest_of;
use crate::stage::temporary::{Temporary, TemporaryId, unlink, unlink_if};

/// A file in the making, without its name. Dropping it removes it, and the directories that were made for it.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub(crate) struct Creation {
    place: WritablePlace,
    // In this order: the temporary must be gone before its directory can go.
    temporary: Temporary,
    made: Made,
}

/// A file that was created, locked until this is dropped, where the file system has locks.
#[derive(Debug)]
pub(crate) struct Created {
    place: WritablePlace,
    id: TemporaryId,
    /// The new file.
    pub(crate) file: OpenFile,
    made: Made,
    /// True if its temporary's name is gone.
    is_clean: bool,
}

impl Creation {
    /// Makes the missing parents (mode 0777 less the umask) and an empty file in the last, with these
    /// permissions less the umask.
    ///
    /// [`Creation::publish`] decides whether the name is free.
    pub(crate) fn begin(
        place: &WritablePlace,
        id: TemporaryId,
        permissions: u32,
    ) -> Result<Self, StoreError> {
        check_directory(place)?;
        let mut attempts = Attempts::new(Cancellation::none());
        loop {
            let made = Made::below(place);
            let temporary = made.and_then(|made| {
                let temporary =
                    Temporary::create_in(made.innermost(place), (id, id.name()), place.path(), permissions)?;
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

    /// Returns the place that the file will have.
    pub(super) fn place(&self) -> &WritablePlace {
        &self.place
    }

    /// Returns the temporary, which is the file without its name.
    pub(crate) fn temporary(&self) -> &Temporary {
        &self.temporary
    }

    /// Returns the temporary, to be completed.
    pub(crate) fn temporary_mut(&mut self) -> &mut Temporary {
        &mut self.temporary
    }

    /// Returns the directories that were made for it, outermost first.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.made.paths()
    }

    /// Gives the file its name, unless that is taken; the file system decides this in one step. An error
    /// comes with the directories that were made for the file: other files of the call may still be in them.
    pub(crate) fn publish(self) -> Result<Created, Box<(StoreError, Made)>> {
        self.publish_with(&[rename_new, link, claim_and_rename])
    }

    fn publish_with(self, ways: &[Way]) -> Result<Created, Box<(StoreError, Made)>> {
        let Self { place, made, temporary } = self;
        let id = temporary.id();
        match Self::name(temporary, &place, made.innermost(&place), ways) {
            Ok((file, is_clean)) => Ok(Created { place, id, file, made, is_clean }),
            Err(error) => Err((error, made).into()),
        }
    }

    /// Gives the file its name. Returns the file, and whether its temporary's name is gone.
    fn name(
        temporary: Temporary,
        place: &WritablePlace,
        directory: &Dir,
        ways: &[Way],
    ) -> Result<(OpenFile, bool), StoreError> {
        let name = Path::new(place.name());
        let mut named: io::Result<Named> = Err(io::ErrorKind::Unsupported.into());
        for way in ways {
            named = way(directory, &temporary, name);
            if !named.as_ref().is_err_and(os::is_unsupported) {
                break;
            }
        }
        let (file, identity) = named.context(Operation::Create, place.path()).map_err(|error| {
            // The name was claimed, and could not be given up again.
            let is_claimed = error.kind != StoreErrorKind::AlreadyExists
                && is_claimed(directory, name, temporary.id()).unwrap_or(false);
            error.leaving(is_claimed.then(|| LeftBehind::new(place.path(), Remains::Made)))
        })?;
        let file = OpenFile::new(file, place.path().to_owned()).map_err(|error| {
            if unlink_if(directory, name, &identity) {
                return error;
            }
            error.not_restored([LeftBehind::new(place.path(), Remains::Made)])
        })?;
        Ok((file, temporary.remove()))
    }
}

impl Created {
    /// Returns the directories that were made for it, outermost first.
    #[cfg(test)]
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.made.paths()
    }

    /// Waits until its name, and those of its directories, are on disk.
    pub(super) fn sync_names(&self) -> Result<(), StoreError> {
        let synced =
            os::sync_directory(self.made.innermost(&self.place)).and_then(|()| self.made.sync_parents());
        synced.context(Operation::Sync, self.place.path())
    }

    /// Leaves it where it is. Returns whether its temporary's name is gone.
    pub(super) fn keep(mut self) -> bool {
        self.made.keep();
        self.is_clean
    }

    /// Removes the file again, because of `cause`, unless another program has written to it or replaced it.
    /// Returns the error to report.
    pub(super) fn take_back(mut self, digest: Digest, cause: StoreError) -> StoreError {
        let (directory, name) = (self.made.innermost(&self.place), Path::new(self.place.name()));
        let (aside, file) = (self.id.name_of_old(), self.file.file());
        let is_taken = (self.is_clean || unlink(directory, Path::new(&self.id.name())))
            && take_away(directory, name, Path::new(&aside), digest, file).is_ok();
        // Another program may have written to it, or made one of its own.
        let is_there = os::identity_at(directory, name).is_ok();
        let left = is_there.then(|| LeftBehind::new(self.place.path(), Remains::Made));
        if is_there {
            self.made.keep();
        }
        if !is_taken {
            return cause.not_restored(left);
        }
        let is_displaced = is_there && cause.kind != StoreErrorKind::NotRestored;
        let error = cause.leaving(left);
        if is_displaced { StoreError { kind: StoreErrorKind::Displaced, ..error } } else { error }
    }
}

/// Checks that nothing has a new file's place, as far as can be known without making it.
pub(crate) fn check_free(place: &WritablePlace) -> Result<(), StoreError> {
    let fail = |kind| StoreError::new(Operation::Create, place.path(), kind);
    match place.identity() {
        Err(error) if error.kind == StoreErrorKind::NotFound && !place.is_named_by_link() => {}
        Err(error) if error.kind != StoreErrorKind::NotFound => return Err(error),
        _ => return Err(fail(StoreErrorKind::AlreadyExists)),
    }
    if place.ends_in_slash {
        let name = Some(NameFault::SlashAfterNothing);
        return Err(StoreError { name, ..fail(StoreErrorKind::IsADirectory) });
    }
    check_directory(place)
}

/// Checks that no mark on the directory keeps files from being made in it, or from being removed again if the
/// call fails.
pub(crate) fn check_directory(place: &WritablePlace) -> Result<(), StoreError> {
    place.check_missing(Operation::Create)?;
    place.guard_of_directory().map_or(Ok(()), |by| Err(place.guarded(Operation::Create, by)))
}

/// A way to give a temporary a name that must be free; [`io::ErrorKind::Unsupported`] if the file system
/// lacks it.
type Way = fn(&Dir, &Temporary, &Path) -> io::Result<Named>;

/// The file that got the name, and its identity from before another program could replace it.
type Named = (File, Identity);

/// Renames in one step; nothing is left under the temporary's name.
fn rename_new(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    os::rename_new(directory, temporary.name(), directory, name)?;
    Ok((file, *temporary.identity()))
}

/// Links: link(2) refuses any name that is taken, also that of a dangling link. Dropping the temporary
/// removes its name.
fn link(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    hard_link(directory, temporary.name(), name).map_err(|error| match error.kind() {
        // FAT has no hard links and answers EPERM. If EPERM means something else, the next way fails with it,
        // too.
        io::ErrorKind::PermissionDenied => io::Error::new(io::ErrorKind::Unsupported, error),
        _ => error,
    })?;
    Ok(by_its_name(directory, temporary, name).unwrap_or((file, *temporary.identity())))
}

/// Opens and locks the new file by its name where each link has an inode number of its own (sshfs, mergerfs),
/// since a lock under the temporary's name has no effect there. `None` on other file systems, and if another
/// program has replaced the file already.
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

/// Claims the name with a file and renames the temporary over that, on file systems that have no other way.
/// The claim holds the temporary's name, by which recovery knows it. What another program writes to it in
/// between is lost.
fn claim_and_rename(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Named> {
    let file = temporary.file().try_clone()?;
    // Another process of this server that edits the claim gets this lock later, and then sees that the
    // file is gone.
    let _one_at_a_time =
        lock_directory(directory, temporary.path()).map_err(|_| io::ErrorKind::ResourceBusy)?;
    let mut options = OpenOptions::new();
    // Another program may have written to it already, which must not be written over.
    options.read(true).append(true).create_new(true).follow(FollowSymlinks::No);
    let mut file_of_claim = directory.open_with(name, &options)?.into_std();
    let claim = temporary.id().claim();
    let written = file_of_claim.write_all(&claim).and_then(|()| os::sync_data(&file_of_claim));
    let claimed = os::identity_of(&file_of_claim).or_else(|_| os::identity_at(directory, name))?;
    let is_untouched = written.and_then(|()| holds(&file_of_claim, &claim));
    if !is_untouched.inspect_err(|_| unmake(directory, name, &claimed))? {
        // Another program has written to it, and keeps what it wrote.
        let end = file_of_claim.metadata()?.len().saturating_sub(claim.len() as u64);
        let mut bytes = vec![0; claim.len()];
        if os::read_at(&file_of_claim, &mut bytes, end)? == claim.len() && bytes == claim {
            file_of_claim.set_len(end)?;
        }
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let named = match os::identity_at(directory, name) {
        Ok(now) if now.same_content(&claimed) => rename(directory, temporary.name(), name),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => return Err(io::ErrorKind::AlreadyExists.into()),
    };
    named.inspect_err(|_| unmake(directory, name, &claimed))?;
    Ok((file, *temporary.identity()))
}

/// Whether a name is claimed for the file of this id.
fn is_claimed(directory: &Dir, name: &Path, id: TemporaryId) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    holds(&directory.open_with(name, &options)?.into_std(), &id.claim())
}

fn holds(file: &File, claim: &[u8]) -> io::Result<bool> {
    let mut bytes = vec![0; claim.len() + 1];
    let length = os::read_at(file, &mut bytes, 0)?;
    Ok(bytes.get(..length) == Some(claim))
}

/// Removes the new file again, unless another program has written to it or replaced it.
fn unmake(directory: &Dir, name: &Path, made: &Identity) {
    if os::identity_at(directory, name).is_ok_and(|now| now.same_content(made)) {
        remove_file(directory, name).ok();
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
                let mut creation = Creation::begin(&place, TemporaryId::draw(), 0o666).unwrap();
                creation.temporary_mut().write_all(b"content").unwrap();
                creation
            };
            let names = |below: &str| {
                let entries = std::fs::read_dir(directory.path().join(below)).unwrap();
                entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
            };
            let (error, made) = *begin().publish_with(&[]).unwrap_err();
            assert_eq!((error.kind, names("a/b").len()), (StoreErrorKind::Io, 0));
            drop(made);
            assert!(names("").is_empty());

            let losing = begin();
            let unsupported: Way = |_, _, _| Err(io::ErrorKind::Unsupported.into());
            let created = begin().publish_with(&[unsupported, *way]).unwrap();
            assert!(created.made.paths().is_empty());
            assert_eq!(created.file.metadata().len(), 7);
            assert_eq!(std::fs::read(directory.path().join("a/b/new")).unwrap(), b"content");
            assert_eq!(losing.publish_with(&[*way]).unwrap_err().0.kind, StoreErrorKind::AlreadyExists);
            assert_eq!(names("a/b"), ["new"]);
        }
    }

    /// Each link has an inode number of its own on sshfs and mergerfs, as a copy has here.
    #[test]
    fn a_new_file_is_known_by_its_name_only_if_it_holds_the_same() {
        type Make = fn(&Path, &Path);
        let ways: [(Make, bool); 4] = [
            (|_, name| std::fs::write(name, "ours").unwrap(), true),
            (|_, name| std::fs::write(name, "them").unwrap(), false),
            (|_, name| std::fs::create_dir(name).unwrap(), false),
            // There is nothing to open then: this is the same file.
            (|temporary, name| std::fs::hard_link(temporary, name).unwrap(), false),
        ];
        for (make, is_known) in ways {
            let directory = tempfile::tempdir().unwrap();
            let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
            let name = real(directory.path()).join("new");
            let place = roots.resolve_for_writing(name.to_str().unwrap()).unwrap();
            let mut creation = Creation::begin(&place, TemporaryId::draw(), 0o666).unwrap();
            creation.temporary_mut().write_all(b"ours").unwrap();
            make(creation.temporary().path(), &name);
            let found = by_its_name(&place.directory, creation.temporary(), Path::new("new"));
            assert_eq!(found.is_some(), is_known);
            let Some((file, identity)) = found else { continue };
            let other = File::open(&name).unwrap();
            assert!(identity.same_file(&os::identity_of(&file).unwrap()));
            assert!(identity.same_file(&os::identity_of(&other).unwrap()));
            assert!(os::try_lock(&other).is_err(), "the file itself is locked");
        }
    }

    #[test]
    fn what_another_program_puts_under_the_name_stays() {
        /// Gives the file its name, and has another program replace it in that moment.
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
            let mut creation = Creation::begin(&place, TemporaryId::draw(), 0o666).unwrap();
            creation.temporary_mut().write_all(b"ours").unwrap();
            let created = creation.publish_with(&[*way]).unwrap();
            assert_eq!((created.file.metadata().len(), created.file.path()), (4, file.as_path()));
            #[cfg(unix)]
            assert_eq!(std::fs::read_link(&file).unwrap(), Path::new("theirs"));
            #[cfg(windows)]
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }
}
