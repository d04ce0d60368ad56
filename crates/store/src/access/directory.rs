//! Opening a directory by its name in another, or by a path beneath it, following no link: [`open_directory`] and [`open_beneath`].

use std::ffi::OsStr;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::os;

/// Opens a directory by its name in another. If the name is a link by now, which it was not when the path was walked, the error is
/// [`StoreErrorKind::Changed`].
pub(crate) fn open_directory(parent: &Dir, name: &OsStr, whole: &Path) -> Result<Dir, StoreError> {
    parent.open_dir_nofollow(name).map_err(|source| {
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

/// Opens a directory by its path beneath another; `None` if there is none, or a link on the way.
pub(crate) fn open_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
    if let Some(directory) = os::open_directory_beneath(root, relative) {
        return Some(directory);
    }
    let root = root.try_clone().ok()?;
    relative.iter().try_fold(root, |directory, name| directory.open_dir_nofollow(name).ok())
}
