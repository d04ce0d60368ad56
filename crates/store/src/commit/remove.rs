//! Removing a file that was checked: [`remove`]. It is one that a call names by its digest, or whose creation is undone.
//!
//! The file is first renamed to a name that no other program knows, and unlinked only if what has that name is what was checked. So a
//! file that another program put there at the last moment is put back.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;

use crate::access::place::{Bytes, OpenFile, Place, WritablePlace};
use crate::cancellation::Cancellation;
use crate::commit::displaced::{give_back, restore};
use crate::commit::transaction::Transaction;
use crate::durability::Durability;
use crate::error::{Context as _, Left, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{Intent, Step, Subject};
use crate::lock::LockedFile;
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{remove_file, rename};
use crate::os::vanishing::remove_directory;
use crate::read::hash::{digest_of, digest_of_bytes};
use crate::stage::temporary::{TemporaryId, unlink};
use crate::workspace::Workspace;

/// A file that is to be removed.
#[derive(Debug)]
pub(crate) struct Removal<'a> {
    /// Where it is.
    pub(crate) place: &'a WritablePlace,
    /// The file, as it was checked.
    pub(crate) locked: LockedFile,
    /// The digest of what it holds.
    pub(crate) digest: Digest,
    /// Whether its times can tell whether it still holds that.
    pub(crate) is_settled: bool,
    /// The directories that were made for it, outermost first; they are removed as far as they are empty.
    pub(crate) directories: &'a [PathBuf],
}

/// What is known of a removal that was carried out.
#[derive(Debug)]
pub(crate) struct Removed<'a, T> {
    /// The result of `note`.
    pub(crate) noted: T,
    /// Whether recovery would have found it if the process had been killed.
    pub(crate) was_recorded: bool,
    /// The directories that were made for it.
    pub(crate) around: Around<'a>,
}

/// The directories around a file that was removed, and the record of the removal.
#[derive(Debug)]
#[must_use = "they are still there"]
pub(crate) struct Around<'a> {
    workspace: &'a Workspace,
    transaction: Transaction<'a>,
    directories: Vec<PathBuf>,
}

impl<'a> Around<'a> {
    /// The directories that were made for a file that has gone elsewhere.
    pub(super) fn of(
        workspace: &'a Workspace,
        transaction: Transaction<'a>,
        directories: &[PathBuf],
    ) -> Self {
        Self { workspace, transaction, directories: directories.to_vec() }
    }

    /// Removes them as far as they are empty, which ends the removal. Due once the place of the file is dropped: Windows removes no
    /// directory of which there is a handle.
    pub(crate) fn remove(mut self) {
        match remove_directories(self.workspace, &self.directories) {
            Ok(()) => drop(self.transaction),
            // The next process tries again.
            Err(error) => {
                tracing::warn!(%error, "a directory that was made for a file cannot be removed with it");
                self.transaction.give_up();
            }
        }
    }
}

/// Removes a file. `note` is called once the removal is certain, while the file is still there under another name.
///
/// A file that is not what was checked any more stays, and is [`StoreErrorKind::Changed`].
pub(crate) fn remove<'a, T>(
    workspace: &'a Workspace,
    removal: Removal<'_>,
    cancellation: Cancellation<'_>,
    note: impl FnOnce() -> T,
) -> Result<Removed<'a, T>, StoreError> {
    let place = removal.place;
    place.check_may_go(Operation::Remove)?;
    let id = TemporaryId::draw();
    let subject = Subject { path: place.path().to_owned(), id, intent: Intent::Remove };
    let aside = id.name();
    let aside = Path::new(&aside);
    let ((), transaction) = Transaction::begin(workspace, &[subject]).work(|transaction| {
        let Removal { digest, is_settled, directories, .. } = removal;
        transaction.decide(&[Step::Remove { old: digest, directories: directories.to_vec() }])?;
        if cancellation.is_cancelled() {
            return Err(StoreError::new(Operation::Remove, place.path(), StoreErrorKind::Cancelled));
        }
        let checked = Checked { place, file: removal.locked.file(), digest, is_settled };
        withdraw(workspace, checked, transaction, aside).map_err(|error| match error {
            NotWithdrawn::Restored(error) => error,
            NotWithdrawn::Left(error) => {
                transaction.give_up();
                error
            }
        })
    })?;
    let noted = note();
    // The file under this name was checked, and no other program knows the name.
    unlink(&place.directory, aside);
    // Some file systems keep an open file under another name, in a directory that is to be removed.
    drop(removal.locked);
    let was_recorded = transaction.is_recorded();
    let around = Around { workspace, transaction, directories: removal.directories.to_vec() };
    Ok(Removed { noted, was_recorded, around })
}

/// A file that is to lose its name, as it was checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked<'a> {
    pub(super) place: &'a WritablePlace,
    /// The file, with the identity that it had before it was read.
    pub(super) file: &'a OpenFile,
    /// The digest of what it holds.
    pub(super) digest: Digest,
    /// Whether its times can tell whether it still holds that.
    pub(super) is_settled: bool,
}

/// Why a file has its name still, or again.
#[derive(Debug)]
pub(super) enum NotWithdrawn {
    /// Nothing is left to be recovered: all is as it was, but for what the error says.
    Restored(StoreError),
    /// Recovery has to put things right, so that the record must stay.
    Left(StoreError),
}

/// Takes a file's name away: it is renamed to `aside`, looked at, and given its name back if it is not what was checked. Afterwards the
/// transaction is decided, and what is under the other name can be unlinked.
pub(super) fn withdraw(
    workspace: &Workspace,
    checked: Checked<'_>,
    transaction: &mut Transaction<'_>,
    aside: &Path,
) -> Result<(), NotWithdrawn> {
    let place = checked.place;
    let renamed = rename(&place.directory, place.name(), aside);
    renamed.context(Operation::Remove, place.path()).map_err(NotWithdrawn::Restored)?;
    let stands = check(checked, aside).and_then(|()| {
        sync(workspace, place)?;
        transaction.decided()
    });
    let Err(error) = stands else { return Ok(()) };
    if transaction.is_in_doubt() {
        // Recovery ends it or takes it back.
        let of = place.path();
        let kept = Left::new(&of.with_file_name(aside), Remains::Old(of.to_owned()));
        return Err(NotWithdrawn::Left(error.not_restored([Left::new(of, Remains::Gone), kept])));
    }
    match restore(place, aside, error) {
        // The record stays: a power cut could bring the removal back.
        Ok(error) if sync(workspace, place).is_err() => Err(NotWithdrawn::Left(error)),
        Ok(error) => Err(NotWithdrawn::Restored(error)),
        Err(error) => Err(NotWithdrawn::Left(error)),
    }
}

/// Checks that the renamed file is what was checked before, and that no program has it open for writing.
fn check(checked: Checked<'_>, aside: &Path) -> Result<(), StoreError> {
    let Checked { place, file, digest, is_settled } = checked;
    let out = os::identity_at(&place.directory, aside).context(Operation::Remove, place.path())?;
    // Where inode numbers are made from paths, the rename has changed it.
    let is_same = || out.same_content(file.identity());
    let is_renamed = || {
        let is_another = !out.same_file(file.identity());
        if is_another { holds(&place.directory, aside, digest, file.file()) } else { Ok(false) }
    };
    let is_it = (is_same() || is_renamed().context(Operation::Read, place.path())?)
        && os::is_open_for_writing(file.file()) != Some(true)
        && (is_settled || digest_of(file)? == digest);
    if is_it {
        return Ok(());
    }
    Err(StoreError::new(Operation::Remove, place.path(), StoreErrorKind::Changed))
}

/// Whether the file of this name in a directory has this digest. If it is one that is open, its bytes are read by that.
pub(super) fn holds(directory: &Dir, name: &Path, digest: Digest, open: &File) -> io::Result<bool> {
    let now = os::identity_at(directory, name)?;
    if os::identity_of(open)?.same_file(&now) {
        return Ok(digest_of_bytes(&Bytes::now(open)?)? == digest);
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = match directory.open_with(name, &options) {
        // Nobody's link is ours.
        Err(error) if os::is_link_loop(&error) => return Ok(false),
        opened => os::as_programs_see(opened?.into_std(), false)?,
    };
    Ok(file.metadata()?.is_file() && digest_of_bytes(&Bytes::now(&file)?)? == digest)
}

pub(super) fn sync(workspace: &Workspace, place: &Place) -> Result<(), StoreError> {
    match workspace.durability {
        Durability::Machine => os::sync_directory(&place.directory).context(Operation::Sync, place.path()),
        Durability::Process => Ok(()),
    }
}

/// Takes a file away that holds what we know, whichever file that is, such as one that is `open`: it is renamed first, and gets its name
/// back if it holds anything else. If it could not be unlinked it is an error, and it has one of the two names.
pub(crate) fn take_away(
    directory: &Dir,
    name: &Path,
    aside: &Path,
    digest: Digest,
    open: &File,
) -> io::Result<()> {
    match rename(directory, name, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    match holds(directory, aside, digest, open) {
        Ok(true) => remove_file(directory, aside),
        is_another => give_back(directory, aside, name).and(is_another.map(drop)),
    }
}

/// Removes directories, the innermost first, up to one that is not empty or is elsewhere by now.
pub(crate) fn remove_directories(workspace: &Workspace, directories: &[PathBuf]) -> Result<(), StoreError> {
    for path in directories.iter().rev() {
        let Some(place) = workspace.roots.place(path).ok().filter(|place| place.path() == path) else {
            break;
        };
        // A process that was killed may have removed this one and not those around it.
        if !place.missing.is_empty() {
            continue;
        }
        match remove_directory(&place.directory, place.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if is_in_use(&error) => break,
            Err(error) => return Err(StoreError::from_io(Operation::Remove, path, error)),
        }
        // After a power cut at most an empty directory comes back.
        sync(workspace, &place).ok();
    }
    Ok(())
}

/// Whether a directory stays because somebody uses it, or nothing may be removed there.
fn is_in_use(error: &io::Error) -> bool {
    use io::ErrorKind::{
        DirectoryNotEmpty, NotADirectory, PermissionDenied, ReadOnlyFilesystem, ResourceBusy,
    };
    // Some systems answer EEXIST for a directory that is not empty (rmdir(2)).
    matches!(
        error.kind(),
        DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | NotADirectory
            | PermissionDenied
            | ReadOnlyFilesystem
            | ResourceBusy
    ) || os::is_held_open(error)
}
