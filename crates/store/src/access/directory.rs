//! Opening a directory by its name in another, following no link: [`open_directory`].

use std::ffi::OsStr;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::error::{Operation, StoreError, StoreErrorKind};

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
