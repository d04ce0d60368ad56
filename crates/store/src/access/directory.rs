//! Opens a directory by its name in another ([`open_directory`]), or by a path beneath another
//! ([`open_beneath`]). Follows no link.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;

/// Opens a directory by its name in another; on Windows also a volume that is mounted there. The error is
/// [`StoreErrorKind::Changed`] if the name has become a link since the path was walked.
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

/// Opens a directory by its path beneath another; `None` if there is none, or if a link is on the way.
pub(crate) fn open_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
    if let Some(directory) = os::open_directory_beneath(root, relative) {
        return Some(directory);
    }
    let root = root.try_clone().ok()?;
    relative.iter().try_fold(root, |directory, name| os::open_directory(&directory, Path::new(name)).ok())
}
