//! Looks up the files of a call that is rolled back, as they are on disk now, by their names: [`World`]. If
//! other machines write the files, the lookups bypass this machine's caches. The functions in this file
//! change nothing.
//!
//! Creates the directories for a new file, [`Made`], and removes the directories of a file that has left
//! them, [`remove_directories`].

use std::cell::{OnceCell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{Source as _, read_range};

use crate::access::place::{Bytes, OpenFile, Place, WritablePlace, open_directory};
use crate::commit::table::{CallName, NameHolder, NameView, RecordedCall};
use crate::durability::Durability;
use crate::error::{ErrorContext as _, LeftBehind, Operation, StoreError, StoreErrorKind};
use crate::journal::{FoundRecord, Record};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::stored_names::StoredNames;
use crate::os::vanishing::remove_directory;
use crate::read::hash::{digest_as_stored, digest_of_bytes};
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

/// The process that rolls a call back.
pub(crate) enum TakenBackBy<'a> {
    /// The process that made the call. It has a record, unless it runs without a journal.
    Owner(RefCell<Option<&'a mut Box<dyn Record>>>),
    /// A process that recovers the call.
    Recovery(&'a dyn FoundRecord),
}

impl TakenBackBy<'_> {
    pub(super) fn prove(&self) -> Result<(), StoreError> {
        match self {
            Self::Owner(record) => record.borrow_mut().as_mut().map_or(Ok(()), |record| record.prove()),
            Self::Recovery(record) => record.prove(),
        }
    }

    /// Returns how often the record was taken over.
    pub(super) fn epoch(&self) -> u32 {
        if let Self::Recovery(record) = self { record.epoch() } else { 0 }
    }
}

/// The files of a call, locked.
pub(crate) struct World<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) by: TakenBackBy<'a>,
    pub(super) call: RecordedCall<'a>,
    /// The places of all files.
    pub(super) places: &'a [WritablePlace],
    /// Files of the call that are open already. They are not opened again by name: a call must be able to
    /// roll back when no file descriptor is free.
    pub(crate) handles: Vec<(Identity, &'a File)>,
    /// The listed names of each directory to which other machines write; cleared after each step.
    pub(super) stored: RefCell<BTreeMap<PathBuf, StoredNames>>,
    /// Caches the result of [`World::are_known`].
    are_known: OnceCell<bool>,
    /// The displaced files that were kept under other names in the originals' directories.
    pub(super) kept: RefCell<Vec<LeftBehind>>,
}

/// The file that has a name.
pub(super) struct Found {
    pub(super) directory: Arc<Dir>,
    pub(super) path: PathBuf,
    /// The file, opened bypassing caches; `None` if that is not needed.
    pub(super) file: Option<OpenFile>,
    /// `None` if this is not a regular file.
    pub(super) identity: Option<Identity>,
}

impl Found {
    pub(super) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// A file that was open already, or was just opened.
pub(super) enum Opened<'f> {
    Before(&'f File),
    Now(File),
}

impl Deref for Opened<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Before(file) => file,
            Self::Now(file) => file,
        }
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        by: TakenBackBy<'a>,
        call: RecordedCall<'a>,
        places: &'a [WritablePlace],
        handles: Vec<(Identity, &'a File)>,
    ) -> Self {
        let (stored, are_known, kept) = (RefCell::default(), OnceCell::new(), RefCell::default());
        Self { workspace, by, call, places, handles, stored, are_known, kept }
    }

    pub(super) fn place(&self, index: usize) -> Result<&WritablePlace, StoreError> {
        let changed = || StoreError::new(Operation::Recover, Path::new(""), StoreErrorKind::Changed);
        self.places.get(index).ok_or_else(changed)
    }

    /// Returns a drawn name, which the call chose at random; `None` for a file's own name.
    pub(super) fn drawn(&self, name: CallName) -> Option<OsString> {
        let subjects = &self.call.contents.subjects;
        match name {
            CallName::File(_) => None,
            CallName::Temporary(index) => subjects.get(index).map(|subject| subject.id.name()),
            CallName::Backup(index) => subjects.get(index).map(|subject| subject.id.name_of_old()),
        }
    }

    /// Returns the directories in which temporary files of a file can be.
    pub(super) fn directories<'w>(&'w self, place: &'w WritablePlace) -> impl Iterator<Item = &'w Arc<Dir>> {
        let beside = place.missing.is_empty().then_some(&place.directory);
        beside.into_iter().chain(self.workspace.content_dir().map(StateDir::content))
    }

    pub(super) fn find(&self, name: CallName) -> Result<Option<Found>, StoreError> {
        let index = name.index();
        let place = self.place(index)?;
        let (directories, file_name): (Vec<&Arc<Dir>>, OsString) = match self.drawn(name) {
            Some(drawn) => (self.directories(place).collect(), drawn),
            None if place.missing.is_empty() => (vec![&place.directory], place.name().to_owned()),
            None => return Ok(None),
        };
        for directory in directories {
            let path = place.path().with_file_name(&file_name);
            let file = match self.open_stored(directory, &path) {
                Ok(Some(file)) => Some(OpenFile::new(file, path.clone())?),
                Ok(None) if self.by.epoch() > 0 => continue,
                Ok(None) => None,
                Err(error) if os::is_link_loop(&error) => None,
                Err(error) => return Err(StoreError::from_io(Operation::Recover, &path, error)),
            };
            let look = || {
                let is_file = directory.symlink_metadata(&file_name)?.is_file();
                is_file.then(|| os::identity_at(directory, Path::new(&file_name))).transpose()
            };
            let looked = match &file {
                Some(file) => Ok(file.metadata().is_file().then_some(*file.identity())),
                None => look(),
            };
            match looked {
                // If the name is too long for the file system, no file has it.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => {}
                looked => {
                    let identity = looked.context(Operation::Recover, &path)?;
                    return Ok(Some(Found { directory: directory.clone(), path, file, identity }));
                }
            }
        }
        Ok(None)
    }

    /// Opens a file, bypassing this machine's caches. Returns `None` if there is no such file, or if this
    /// does not recover a record that several machines share.
    fn open_stored(&self, directory: &Dir, path: &Path) -> io::Result<Option<File>> {
        if self.by.epoch() == 0 {
            return Ok(None);
        }
        let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        let mut stored = self.stored.borrow_mut();
        let names = match stored.entry(parent.to_owned()) {
            Entry::Occupied(listed) => listed.into_mut(),
            Entry::Vacant(directories) => {
                let all = self.call.contents.subjects.iter().flat_map(|subject| {
                    let own = subject.path.file_name().unwrap_or_default().to_owned();
                    [own, subject.id.name(), subject.id.name_of_old()]
                });
                directories.insert(StoredNames::list(directory, all)?)
            }
        };
        names.open(directory, name)
    }

    /// Drops outdated names from this machine's caches, before files are opened and locked by name.
    pub(crate) fn forget_stale_names(&self) -> Result<(), StoreError> {
        (0..self.places.len()).try_for_each(|index| self.find(CallName::File(index)).map(drop))
    }

    /// Opens the file that was found, unless it is open already.
    pub(super) fn open<'f>(&'f self, found: &'f Found) -> Result<Opened<'f>, StoreError> {
        let is_it = |open: &Identity| found.identity.is_some_and(|now| now.same_file(open));
        if let Some(file) = &found.file {
            return Ok(Opened::Before(file.file()));
        }
        if let Some((_, file)) = self.handles.iter().find(|(open, _)| is_it(open)) {
            return Ok(Opened::Before(file));
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let opened = found.directory.open_with(found.name(), &options);
        let opened = opened.and_then(|file| os::as_programs_see(file.into_std(), false));
        Ok(Opened::Now(opened.context(Operation::Recover, &found.path)?))
    }

    pub(super) fn read(&self, found: &Found) -> Result<Vec<u8>, StoreError> {
        let file = self.open(found)?;
        let read = Bytes::now(&file).and_then(|bytes| read_range(&bytes, 0..bytes.size()));
        read.context(Operation::Recover, &found.path)
    }

    /// Returns the index of the file of the call for which the found file, a claim, reserves this name.
    fn claim(&self, name: CallName, found: &Found) -> Result<Option<usize>, StoreError> {
        let subjects = self.call.contents.subjects.iter().enumerate();
        for (index, subject) in subjects {
            let claim = subject.id.claim();
            let fits = found.identity.is_some_and(|now| now.size == claim.len() as u64);
            let is_named = match name {
                CallName::File(of) => self.place(of)?.path() == subject.path,
                CallName::Temporary(of) | CallName::Backup(of) => of == index,
            };
            if !(fits && is_named) {
                continue;
            }
            let bytes = self.read(found)?;
            if bytes == claim {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether the files of the call have the identities in the record. Their identities differ if the tree
    /// was copied, or restored from a backup. Then drawn names exist, but none of them has a file that is in
    /// the record, although no other program uses such names.
    pub(super) fn are_known(&self) -> Result<bool, StoreError> {
        if let Some(are_known) = self.are_known.get() {
            return Ok(*are_known);
        }
        let (mut any, mut known) = (false, false);
        for index in 0..self.places.len() {
            for name in [CallName::Temporary(index), CallName::Backup(index)] {
                let found = self.find(name)?.and_then(|found| found.identity);
                any |= found.is_some();
                known |= found.is_some_and(|now| self.call.is_recorded(name, now.file_key()));
            }
        }
        Ok(*self.are_known.get_or_init(|| known || !any))
    }
}

impl NameView for World<'_> {
    type Error = StoreError;

    fn look(&self, name: CallName) -> Result<Option<NameHolder>, StoreError> {
        let Some(found) = self.find(name)? else { return Ok(None) };
        let Some(identity) = found.identity else { return Ok(Some(NameHolder::NoFile)) };
        if let Some(index) = self.claim(name, &found)? {
            return Ok(Some(NameHolder::Claim(index)));
        }
        let lasts = os::identity_lasts(&found.directory) && self.are_known()?;
        Ok(Some(NameHolder::File { key: identity.file_key(), lasts }))
    }

    fn digest(&self, name: CallName) -> Result<Option<Digest>, StoreError> {
        let Some(found) = self.find(name)?.filter(|found| found.identity.is_some()) else { return Ok(None) };
        if let Some(file) = &found.file
            && let Some(digest) = digest_as_stored(file.file()).context(Operation::Recover, &found.path)?
        {
            return Ok(Some(digest));
        }
        let is_ours = || found.identity.is_some_and(|now| self.call.is_recorded(name, now.file_key()));
        let file = match self.open(&found) {
            // Another program has created this file, and this process may not read it.
            Err(error) if error.kind == StoreErrorKind::PermissionDenied && !is_ours() => return Ok(None),
            opened => opened?,
        };
        let digest = Bytes::now(&file).and_then(|bytes| digest_of_bytes(&bytes));
        Ok(Some(digest.context(Operation::Recover, &found.path)?))
    }
}

/// Created directories, outermost first. Dropping them removes those that are empty.
#[derive(Debug, Default)]
pub(crate) struct Made {
    directories: Vec<One>,
    innermost: Option<Arc<Dir>>,
}

#[derive(Debug)]
struct One {
    parent: Arc<Dir>,
    name: OsString,
    path: PathBuf,
}

impl Made {
    /// Creates the missing directories above a place. A directory that another call creates meanwhile is
    /// used, and is not removed.
    pub(crate) fn below(place: &Place) -> Result<Self, StoreError> {
        let mut made = Self::default();
        let mut parent = place.directory.clone();
        let above = place.path().ancestors().skip(1);
        let mut paths: Vec<&Path> = above.take(place.missing.len()).collect();
        paths.reverse();
        for (name, path) in place.missing.iter().zip(paths) {
            match parent.create_dir(name) {
                Ok(()) => {
                    let one = One { parent: parent.clone(), name: name.clone(), path: path.to_owned() };
                    made.directories.push(one);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::from_io(Operation::CreateDirectory, path, error)),
            }
            parent = Arc::new(open_directory(&parent, name, path)?);
        }
        made.innermost = Some(parent);
        Ok(made)
    }

    /// Returns the directory that contains the place, now that it exists.
    pub(super) fn innermost<'a>(&'a self, place: &'a Place) -> &'a Arc<Dir> {
        self.innermost.as_ref().unwrap_or(&place.directory)
    }

    /// Waits until the names of the created directories are on disk.
    pub(super) fn sync_parents(&self) -> io::Result<()> {
        self.directories.iter().try_for_each(|one| os::sync_directory(&one.parent))
    }

    /// Returns the paths of the created directories, outermost first.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|one| one.path.clone()).collect()
    }

    /// Makes the created directories stay when this value is dropped.
    pub(super) fn keep(&mut self) {
        self.directories.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Windows removes no directory that has an open handle.
        self.innermost = None;
        while let Some(One { parent, name, .. }) = self.directories.pop() {
            // The directory is in use by now, so it stays, and so do its ancestors.
            if remove_directory(&parent, &name).is_err() {
                break;
            }
        }
    }
}

/// Removes directories that are empty and still at their paths, inner directories first. Must be called once
/// for all files of a call: the directories of one file may be inside those of another.
pub(crate) fn remove_directories<'a>(
    workspace: &Workspace,
    directories: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), StoreError> {
    let directories: BTreeSet<&PathBuf> = directories.into_iter().collect();
    for path in directories.into_iter().rev() {
        let Some(place) = workspace.roots.place(path).ok().filter(|place| place.path() == path) else {
            continue;
        };
        // A killed process may have removed this directory, but not yet its ancestors.
        if !place.missing.is_empty() {
            continue;
        }
        match remove_directory(&place.directory, place.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_in_use(&error) => continue,
            Err(error) => return Err(StoreError::from_io(Operation::Remove, path, error)),
        }
        // An error is ignored: at worst, an empty directory comes back after a power cut.
        if workspace.durability == Durability::Machine {
            os::sync_directory(&place.directory).ok();
        }
    }
    Ok(())
}

/// Tells whether the error says that the directory is in use, or that nothing may be removed there.
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
