//! Changes names in a directory: [`rename`], [`hard_link`], [`remove_file`]. If the change fails because
//! another program has the file open, each function retries for a moment. On Windows, virus scanners and
//! indexers open files that were just written.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::os;
use crate::os::directory::Dir;
#[cfg(not(feature = "simulation"))]
use crate::os::names_once::{hard_link_once, remove_file_once};
use crate::os::patience::while_held;
#[cfg(feature = "simulation")]
use crate::os::simulation::{hard_link_once, remove_file_once};

#[cfg(not(feature = "simulation"))]
pub(crate) use crate::os::names_once::rename_once;
#[cfg(feature = "simulation")]
pub(crate) use crate::os::simulation::rename_once;

/// Renames a file in its directory. If a file of the new name exists, it is replaced atomically.
pub(crate) fn rename(directory: &Dir, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| rename_once(directory, from.as_ref(), to.as_ref()))
}

/// Gives a file a second name in its directory. The name must be free.
pub(crate) fn hard_link(directory: &Dir, file: impl AsRef<Path>, name: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| hard_link_once(directory, file.as_ref(), directory, name.as_ref()))
}

/// Gives a file a second name in another directory. The name must be free.
pub(crate) fn hard_link_into(directory: &Dir, file: &OsStr, target: &Dir, name: &OsStr) -> io::Result<()> {
    while_held(|| hard_link_once(directory, Path::new(file), target, Path::new(name)))
}

/// Moves a file to another directory or name atomically. Fails if the new name is taken.
pub(crate) fn rename_into(directory: &Dir, from: &OsStr, target: &Dir, to: &OsStr) -> io::Result<()> {
    while_held(|| os::rename_new(directory, Path::new(from), target, Path::new(to)))
}

/// Removes a directory entry, which must not be a directory.
pub(crate) fn remove_file(directory: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| remove_file_once(directory, name.as_ref()))
}
