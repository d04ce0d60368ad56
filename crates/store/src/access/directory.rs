//! Opens a directory by its name in a parent directory ([`open_directory`]), or by its path beneath a
//! directory ([`open_beneath`]), without following links. [`DirectoryKey`] identifies a directory beyond a
//! restart.

use std::ffi::OsStr;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;

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
