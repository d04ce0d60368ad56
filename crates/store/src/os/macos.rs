//! What macOS has: `renameatx_np(2)`.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;

use crate::os::unix::unsupported;

/// Exchanges two names of one directory in one step.
pub(crate) fn exchange(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
    let flags = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(directory, file, directory, temporary, flags).map_err(unsupported)
}

/// Renames a file in one step, unless the new name is taken.
pub(crate) fn rename_new(directory: &Dir, from: &Path, to: &Path) -> io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(directory, from, directory, to, flags).map_err(unsupported)
}
