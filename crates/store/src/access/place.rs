//! Names files relative to the handle of a directory ([`Place`]), and opens them by such a name
//! ([`OpenFile`]).
//!
//! Only [`crate::access::roots`] turns a path into a place. Nothing here follows a symbolic link.
//!
//! Opens a directory by its name in a parent directory ([`open_directory`]), or by its path beneath a
//! directory ([`open_beneath`]), without following links. [`DirectoryKey`] identifies a directory beyond a
//! restart.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{FileType, OpenOptions};
use mcp_text_editor_core::source::Source;

use crate::error::{ErrorContext as _, NameFault, Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::inode_flags::Guard;
use crate::os::patience::while_held;

/// The maximum number of symbolic links in one path, as on Linux (`path_resolution(7)`).
pub(crate) const MAX_LINKS: u32 = 40;

/// The maximum number of directories that a call creates for a new name. The journal record of the edit holds
/// the path of each, so its size grows with the square of their number.
const MAX_MISSING: usize = 100;

/// The place of a file that exists or could be created: the handle of a directory beneath a root, and a name
/// in it.
///
/// If the handle's directory is renamed, the place moves with it. Another directory that then gets the old
/// name is never entered.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The deepest existing parent directory.
    pub(crate) directory: Arc<Dir>,
    /// Device and inode of `directory`; `None` if they are unknown.
    pub(crate) directory_key: Option<(u64, u64)>,
    /// The missing parent directories below `directory`, outermost first.
    pub(crate) missing: Vec<OsString>,
    pub(crate) name: OsString,
    pub(crate) path: PathBuf,
    /// `path`, relative to the root.
    pub(crate) relative: PathBuf,
    /// The symbolic links in the roots that led to this place.
    pub(crate) links: Vec<SymbolicLink>,
    pub(crate) by_link: bool,
    pub(crate) ends_in_slash: bool,
}

/// A symbolic link in a root, on the way to a place.
#[derive(Clone, Debug)]
pub(crate) struct SymbolicLink {
    pub(crate) path: PathBuf,
    /// The link's path, relative to its root.
    pub(crate) relative: PathBuf,
}

/// A place that may be written to. All code that locks, replaces or creates a file requires this type, and
/// only [`ForWriting::resolve`](crate::access::roots::ForWriting::resolve) returns it. So no edit can bypass
/// the policy.
#[derive(Clone, Debug)]
pub(crate) struct WritablePlace(Place);

impl WritablePlace {
    /// Converts a place that the policy permits to be written. Only `roots.rs` may call this, after it has
    /// checked the policy.
    pub(crate) fn permitted(place: Place) -> Self {
        Self(place)
    }

    /// Returns the same place once the missing directories exist. `directory` is the last of them.
    pub(crate) fn within(&self, directory: &Arc<Dir>) -> Self {
        Self(Place { directory: directory.clone(), missing: Vec::new(), ..self.0.clone() })
    }

    /// Returns the same place, for reading only.
    pub(crate) fn into_place(self) -> Place {
        self.0
    }
}

impl Deref for WritablePlace {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl Place {
    /// Returns the absolute path, without any symbolic link. It is for messages and journal records, not for
    /// opening.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path, and the paths of the links that led to it, each as an absolute path and relative to
    /// its root.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let links = self.links.iter().map(|link| (link.path.as_path(), link.relative.as_path()));
        std::iter::once((self.path.as_path(), self.relative.as_path())).chain(links)
    }

    /// Returns the path relative to its root; if roots are nested, to the innermost.
    #[must_use]
    pub(crate) fn relative(&self) -> &Path {
        &self.relative
    }

    /// Returns the file's name in its directory.
    #[must_use]
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the parent directories that did not exist, outermost first.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn missing_directories(&self) -> &[OsString] {
        &self.missing
    }

    /// Tells whether the path that was resolved named a symbolic link, dangling or not. The place is then the
    /// link's target.
    #[must_use]
    pub(crate) fn is_named_by_link(&self) -> bool {
        self.by_link
    }

    /// Tells whether no symbolic link led from `path`, which was resolved, to the place. The file names of
    /// the two may differ in spelling.
    #[must_use]
    pub(crate) fn is_directly_at(&self, path: &Path) -> bool {
        !self.by_link && self.path.parent() == path.parent()
    }

    /// Tells whether the path that was resolved named a symbolic link whose target, this place, does not
    /// exist.
    #[must_use]
    pub(crate) fn is_dangling(&self) -> bool {
        self.by_link && self.is_free()
    }

    /// Tells whether no file is at the place. Returns `false` if that cannot be found out.
    #[must_use]
    pub(crate) fn is_free(&self) -> bool {
        self.is_taken().is_ok_and(|is_taken| !is_taken)
    }

    /// Tells whether any file is at the place.
    pub(crate) fn is_taken(&self) -> Result<bool, StoreError> {
        match self.identity() {
            Ok(_) => Ok(true),
            Err(error) if error.kind == StoreErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens the file, for reading or for reading and writing, whether or not it is locked.
    ///
    /// Does not block, since it opens only regular files. Only on Windows does it wait a moment for a program
    /// that denies sharing. If a symbolic link has replaced the file since the path was resolved, the error
    /// is [`StoreErrorKind::Changed`].
    pub(crate) fn open_file(&self, write: bool) -> Result<OpenFile, StoreError> {
        self.open(write).map_err(|error| match error.kind {
            StoreErrorKind::NotFound if self.by_link => {
                StoreError { name: Some(NameFault::DanglingLink), ..error }
            }
            _ => error,
        })
    }

    fn open(&self, write: bool) -> Result<OpenFile, StoreError> {
        let fail = |kind| Err(StoreError::new(Operation::Open, &self.path, kind));
        if !self.missing.is_empty() {
            return fail(StoreErrorKind::NotFound);
        }
        // The kind is checked before the open, since opening a device can have effects (a watchdog starts, a
        // tape rewinds). The path may have been checked long ago, since the call may have waited for locks in
        // between.
        let kind =
            self.directory.symlink_metadata(self.name()).context(Operation::Open, &self.path)?.file_type();
        self.check_regular(kind)?;
        if self.ends_in_slash {
            let error = StoreError::new(Operation::Open, &self.path, StoreErrorKind::NotADirectory);
            return Err(StoreError { name: Some(NameFault::SlashAfterFile), ..error });
        }
        let mut options = OpenOptions::new();
        options.read(true).write(write).follow(FollowSymlinks::No).nonblock(true);
        os::no_terminal(&mut options);
        let open = || {
            let opened = self.directory.open_with(self.name(), &options)?.into_std();
            os::as_programs_see(opened, write)
        };
        let file = match while_held(open) {
            Err(error) if os::is_link_loop(&error) => return fail(StoreErrorKind::Changed),
            opened => opened.context(Operation::Open, &self.path)?,
        };
        let file = OpenFile::new(file, self.path.clone())?;
        // The kind is checked again, since the name may belong to another file by now.
        if file.metadata().is_file() { Ok(file) } else { fail(StoreErrorKind::Changed) }
    }

    fn check_regular(&self, kind: FileType) -> Result<(), StoreError> {
        let kind = if kind.is_file() {
            return Ok(());
        } else if kind.is_dir() {
            StoreErrorKind::IsADirectory
        } else if kind.is_symlink() {
            StoreErrorKind::Changed
        } else {
            StoreErrorKind::NotARegularFile { what: os::special(kind) }
        };
        Err(StoreError::new(Operation::Open, &self.path, kind))
    }

    /// Returns the identity of the file at the place now, without opening it.
    pub(crate) fn identity(&self) -> Result<Identity, StoreError> {
        if !self.missing.is_empty() {
            return Err(StoreError::new(Operation::Open, &self.path, StoreErrorKind::NotFound));
        }
        os::identity_at(&self.directory, Path::new(&self.name)).context(Operation::Open, &self.path)
    }

    /// Returns device and inode of the file at the place; `None` if there is no file, or the platform cannot
    /// look them up by name.
    pub(crate) fn key(&self) -> Option<(u64, u64)> {
        self.missing.is_empty().then(|| os::key_at(&self.directory, self.name())).flatten()
    }

    /// Checks that the file may be written to, according to its mode, its flags (`chattr(1)`) and the file
    /// system.
    ///
    /// Replacing a file needs only permission on its directory. So this check alone keeps a read-only file
    /// from being changed.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        let name = Path::new(&self.name);
        let may_write = os::may_write(&self.directory, name).context(Operation::Open, &self.path);
        match os::guard_at(&self.directory, name) {
            // A read-only file system is reported instead of the flag, which could not be removed there.
            Some(by) if !matches!(&may_write, Err(error) if error.kind == StoreErrorKind::ReadOnlyFileSystem) =>
            {
                let kind = StoreErrorKind::Guarded { by, is_directory: false };
                Err(StoreError::new(Operation::Open, &self.path, kind))
            }
            _ => may_write,
        }
    }

    /// Checks that the file does not need more new directories than a call may create.
    pub(crate) fn check_missing(&self, operation: Operation) -> Result<(), StoreError> {
        let missing = self.missing.len();
        if missing <= MAX_MISSING {
            return Ok(());
        }
        let kind = StoreErrorKind::TooManyMissing { missing, most: MAX_MISSING };
        Err(StoreError::new(operation, &self.path, kind))
    }

    /// Checks that no flag of the file or its directory forbids renaming or removing the file.
    pub(crate) fn check_may_go(&self, operation: Operation) -> Result<(), StoreError> {
        if let Some(by) = self.guard_of_directory() {
            return Err(self.guarded(operation, by));
        }
        os::guard_at(&self.directory, Path::new(&self.name)).map_or(Ok(()), |by| {
            let kind = StoreErrorKind::Guarded { by, is_directory: false };
            Err(StoreError::new(operation, &self.path, kind))
        })
    }

    /// Returns the flag of the directory, if any, that forbids creating, removing or replacing files in it.
    pub(crate) fn guard_of_directory(&self) -> Option<Guard> {
        os::guard_at(&self.directory, Path::new("."))
    }

    /// Returns the error of an operation that the flag of the directory forbids.
    pub(crate) fn guarded(&self, operation: Operation, by: Guard) -> StoreError {
        let mut directory = self.path.as_path();
        for _ in 0..=self.missing.len() {
            directory = directory.parent().unwrap_or(directory);
        }
        StoreError::new(operation, directory, StoreErrorKind::Guarded { by, is_directory: true })
    }
}

/// A regular file that is open, with its metadata and identity at that moment.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    metadata: Metadata,
    identity: Identity,
    path: PathBuf,
}

impl OpenFile {
    pub(crate) fn new(file: File, path: PathBuf) -> Result<Self, StoreError> {
        let metadata = file.metadata().context(Operation::Open, &path)?;
        let identity = os::identity_with(&file, &metadata).context(Operation::Open, &path)?;
        Ok(Self { file, metadata, identity, path })
    }

    /// Returns the file's identity at the time of the open, or of the last [`OpenFile::refreshed`].
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the file's metadata as of the same moment as [`OpenFile::identity`].
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the resolved path by which the file was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads size and times again. Must be called when the lock has been acquired, since the file may have
    /// changed before.
    pub fn refreshed(self) -> Result<Self, StoreError> {
        Self::new(self.file, self.path)
    }

    /// Returns the bytes of the file, up to its size when it was opened.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        Bytes { file: &self.file, size: self.identity.size }
    }

    /// Tells whether size and times are the same as at the open. If so, all reads since then saw the same
    /// content.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        Ok(os::identity_of(&self.file)? == self.identity)
    }
}

impl Source for OpenFile {
    type Error = io::Error;

    fn size(&self) -> u64 {
        self.identity.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes().read_at(offset, buffer)
    }
}

/// The bytes of an open file. Reading them needs no further file descriptor, since the process may have none
/// left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    file: &'a File,
    size: u64,
}

impl<'a> Bytes<'a> {
    /// Returns all bytes that the file has now.
    pub(crate) fn now(file: &'a File) -> io::Result<Self> {
        Ok(Self { file, size: file.metadata()?.len() })
    }
}

impl Source for Bytes<'_> {
    type Error = io::Error;

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match os::read_at(self.file, rest, offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }
}

/// Opens a directory by its name in `parent`; on Windows also a volume that is mounted under that name. The
/// error is [`StoreErrorKind::Changed`] if the name has become a link since the path was walked.
pub(crate) fn open_directory(parent: &Dir, name: &OsStr, whole: &Path) -> Result<Dir, StoreError> {
    os::open_directory(parent, Path::new(name)).map_err(|source| {
        let mut error = StoreError::from_io(Operation::Resolve, whole, source);
        let is_link = || parent.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink());
        if let StoreErrorKind::NotADirectory | StoreErrorKind::LinkLoop = error.kind
            && is_link()
        {
            error.kind = StoreErrorKind::Changed;
        }
        error
    })
}

/// Opens a directory by its path beneath `root`; `None` if there is none, or if a link is on the way.
pub(crate) fn open_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
    if let Some(directory) = os::open_directory_beneath(root, relative) {
        return Some(directory);
    }
    let root = root.try_clone().ok()?;
    relative.iter().try_fold(root, |directory, name| os::open_directory(&directory, Path::new(name)).ok())
}

/// The identity of a directory that lasts beyond a restart: its creation time, except on Windows, and its
/// inode number. All zeros if the file system has no lasting identity, or no creation time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DirectoryKey(pub [u8; 16]);

impl DirectoryKey {
    pub(crate) fn of(directory: &Dir) -> Self {
        if !os::identity_lasts(directory) {
            return Self::default();
        }
        let born = directory.dir_metadata().and_then(|metadata| metadata.created()).ok();
        let born = born.and_then(|born| born.into_std().duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
        // On Windows, the number of a file includes a count of its reuses, so the creation time is not
        // needed.
        let born = if cfg!(windows) { Some(0) } else { born };
        match (born, os::key_of_directory(directory)) {
            (Some(born), Ok((_, inode))) => {
                let halves = [born.to_be_bytes(), inode.to_be_bytes()];
                halves.as_flattened().try_into().map(Self).unwrap_or_default()
            }
            _ => Self::default(),
        }
    }

    /// Tells whether both can be keys of one directory. An unknown key (all zeros) can be the key of any
    /// directory.
    pub(crate) fn may_be(self, other: Self) -> bool {
        self == other || [self, other].contains(&Self::default())
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "a test opens what the store would not")]
mod tests {
    use super::*;

    /// A lasting error is returned without a retry.
    #[test]
    fn what_cannot_be_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let opened = File::open(directory.path()).unwrap();
        let read = Bytes::now(&opened).unwrap().read_at(0, &mut [0]);
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
