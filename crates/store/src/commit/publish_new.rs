//! Creates a new file, which is complete before it gets its final name: [`Creation`].

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;

use crate::access::place::{Bytes, WritablePlace};
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::commit::world::Made;
use crate::error::{ErrorContext as _, NameFault, Operation, StoreError, StoreErrorKind};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{hard_link, remove_file, rename};
use crate::read::hash::digest_of_bytes;
use crate::stage::{Temporary, TemporaryId};

/// A new file that does not have its final name yet. Dropping this value removes the file, and the
/// directories that were created for it.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub(crate) struct Creation {
    place: WritablePlace,
    // The fields are dropped in this order: the temporary file must be removed before its directory can be
    // removed.
    temporary: Temporary,
    made: Made,
}

/// A new file that has its final name.
#[derive(Debug)]
pub(crate) struct Published {
    /// The lock of the file under its own name, if the lock under the temporary name has no effect.
    _lock: Option<File>,
    /// Whether the file's temporary name is gone.
    pub(super) is_clean: bool,
}

impl Creation {
    /// Creates the missing parent directories (mode 0777 minus the umask), and an empty temporary file in the
    /// innermost, with the given permissions minus the umask.
    ///
    /// Only [`Creation::publish`] finds out whether the name is free.
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

    /// Returns the place of the file, as it will be.
    pub(super) fn place(&self) -> &WritablePlace {
        &self.place
    }

    /// Returns the temporary file.
    pub(crate) fn temporary(&self) -> &Temporary {
        &self.temporary
    }

    /// Returns the temporary file, for writing its content.
    pub(crate) fn temporary_mut(&mut self) -> &mut Temporary {
        &mut self.temporary
    }

    /// Returns the directories that were created for it, outermost first.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.made.paths()
    }

    /// Returns the directories that were created for it, with their handles.
    pub(super) fn created_directories(&self) -> &Made {
        &self.made
    }

    /// Gives the file its final name. Fails if the name is taken. The file system makes this check and the
    /// rename atomically.
    pub(crate) fn publish(&self) -> Result<Published, StoreError> {
        let (directory, name) = (self.made.innermost(&self.place), Path::new(self.place.name()));
        let mut published = rename_new(directory, &self.temporary, name);
        for method in [link, claim_and_rename] {
            if !published.as_ref().is_err_and(os::is_unsupported) {
                break;
            }
            published = method(directory, &self.temporary, name);
        }
        published.context(Operation::Create, self.place.path())
    }

    /// Makes the file and its directories stay when this value is dropped.
    pub(super) fn keep(mut self) {
        self.temporary.leave();
        self.made.keep();
    }
}

/// Checks that the place of a new file is free, as far as that is known before the file is created.
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

/// Checks that no flag of the directory forbids creating files in it, or removing them again if the call
/// fails.
pub(crate) fn check_directory(place: &WritablePlace) -> Result<(), StoreError> {
    place.check_missing(Operation::Create)?;
    place.guard_of_directory().map_or(Ok(()), |by| Err(place.guarded(Operation::Create, by)))
}

/// Gives the file its final name by an atomic rename. No temporary name is left.
fn rename_new(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Published> {
    os::rename_new(directory, temporary.name(), directory, name)?;
    Ok(Published { _lock: None, is_clean: true })
}

/// Gives the file its final name by a hard link: link(2) refuses any name that is taken, even by a dangling
/// symbolic link.
fn link(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Published> {
    hard_link(directory, temporary.name(), name).map_err(|error| match error.kind() {
        // FAT has no hard links and returns EPERM. If EPERM has another reason, the next method also fails
        // with it.
        io::ErrorKind::PermissionDenied => io::Error::new(io::ErrorKind::Unsupported, error),
        _ => error,
    })?;
    let lock = lock_by_name(directory, temporary, name);
    Ok(Published { _lock: lock, is_clean: temporary.unlink() })
}

/// Opens and locks the new file by its name on file systems in which each link has its own inode number
/// (sshfs, mergerfs), since a lock under the temporary name has no effect there. `None` on other file
/// systems, and if another program has already replaced the file.
fn lock_by_name(directory: &Dir, temporary: &Temporary, name: &Path) -> Option<File> {
    if os::identity_at(directory, name).ok()?.same_file(temporary.identity()) {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = directory.open_with(name, &options).ok()?.into_std();
    if !file.metadata().ok()?.is_file()
        || digest_of_bytes(&Bytes::now(&file).ok()?).ok()? != temporary.digest().ok()?
    {
        return None;
    }
    os::try_lock(&file).ok();
    Some(file)
}

/// Reserves the name with a file, the claim, and renames the temporary file over it, on file systems that
/// support no other method. The claim contains the temporary name, so recovery recognises the claim. If
/// another program writes to the claim just before the rename, those bytes are lost.
fn claim_and_rename(directory: &Dir, temporary: &Temporary, name: &Path) -> io::Result<Published> {
    // Another process of this server that edits the claim gets this lock only later, and then finds the claim
    // replaced.
    let _one_at_a_time =
        lock_directory(directory, temporary.path()).map_err(|_| io::ErrorKind::ResourceBusy)?;
    let mut options = OpenOptions::new();
    // Another program may already have written to the claim. Appending does not overwrite its bytes.
    options.read(true).append(true).create_new(true).follow(FollowSymlinks::No);
    let mut file_of_claim = directory.open_with(name, &options)?.into_std();
    let claim = temporary.id().claim();
    let written = file_of_claim.write_all(&claim).and_then(|()| os::sync_data(&file_of_claim));
    let claimed = os::identity_of(&file_of_claim).or_else(|_| os::identity_at(directory, name))?;
    if let Err(error) = written {
        // The claim is incomplete, so recovery could not recognise it by its content.
        if os::identity_at(directory, name).is_ok_and(|now| now.same_content(&claimed)) {
            remove_file(directory, name).ok();
        }
        return Err(error);
    }
    if !holds(&file_of_claim, &claim)? {
        // Another program has written to the claim. Its bytes stay; only the claim's own bytes are cut off.
        let end = file_of_claim.metadata()?.len().saturating_sub(claim.len() as u64);
        let mut bytes = vec![0; claim.len()];
        if os::read_at(&file_of_claim, &mut bytes, end)? == claim.len() && bytes == claim {
            file_of_claim.set_len(end)?;
        }
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match os::identity_at(directory, name) {
        Ok(now) if now.same_content(&claimed) => rename(directory, temporary.name(), name)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Err(io::ErrorKind::AlreadyExists.into()),
    }
    Ok(Published { _lock: None, is_clean: true })
}

fn holds(file: &File, claim: &[u8]) -> io::Result<bool> {
    let mut bytes = vec![0; claim.len() + 1];
    let length = os::read_at(file, &mut bytes, 0)?;
    Ok(bytes.get(..length) == Some(claim))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use super::*;
    use crate::access::roots::Roots;
    use crate::stage::TemporaryId;
    use crate::tests::world::real;

    /// A method of giving a file a name that must be free. std's own rename cannot be used: it would replace
    /// a file with that name.
    type Method = fn(&Dir, &Temporary, &Path) -> io::Result<Published>;
    const METHODS: &[Method] =
        if cfg!(windows) { &[link, claim_and_rename] } else { &[rename_new, link, claim_and_rename] };

    #[test]
    fn every_way_gives_the_name_of_a_complete_file_once() {
        for method in METHODS {
            let directory = tempfile::tempdir().unwrap();
            let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
            let place =
                roots.resolve_for_writing(directory.path().join("a/b/new").to_str().unwrap()).unwrap();
            let begin = || {
                let mut creation = Creation::begin(&place, TemporaryId::draw(), 0o666).unwrap();
                creation.temporary_mut().write_all(b"content").unwrap();
                creation
            };
            let give = |creation: &Creation| {
                method(creation.made.innermost(&place), &creation.temporary, Path::new("new"))
            };
            let (first, second) = (begin(), begin());
            assert!(give(&first).unwrap().is_clean);
            assert_eq!(give(&second).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            drop(second);
            assert_eq!(std::fs::read(directory.path().join("a/b/new")).unwrap(), b"content");
            assert_eq!(std::fs::read_dir(directory.path().join("a/b")).unwrap().count(), 1);
        }
    }

    /// On sshfs and mergerfs each hard link has its own inode number. Here a copy stands for such a link.
    #[test]
    fn a_new_file_is_known_by_its_name_only_if_it_holds_the_same() {
        type Make = fn(&Path, &Path);
        let ways: [(Make, bool); 4] = [
            (|_, name| std::fs::write(name, "ours").unwrap(), true),
            (|_, name| std::fs::write(name, "them").unwrap(), false),
            (|_, name| std::fs::create_dir(name).unwrap(), false),
            // With the same inode number, the file need not be opened again.
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
            let found = lock_by_name(&place.directory, creation.temporary(), Path::new("new"));
            assert_eq!(found.is_some(), is_known);
            let Some(file) = found else { continue };
            let other = File::open(&name).unwrap();
            assert!(os::identity_of(&file).unwrap().same_file(&os::identity_of(&other).unwrap()));
            assert!(os::try_lock(&other).is_err(), "the file itself is locked");
        }
    }
}
