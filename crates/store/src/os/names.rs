//! Names that come and go in a directory: [`rename`], [`hard_link`], [`remove_file`]. Each waits for a program that holds the file for a
//! moment, where that keeps a name from changing: on Windows a virus scanner or an indexer opens what was just written.

use std::io;
use std::path::Path;

use crate::os::directory::Dir;

#[cfg(not(feature = "simulation"))]
pub(crate) use crate::os::names_once::rename_once;
#[cfg(not(feature = "simulation"))]
use crate::os::names_once::{hard_link_once, remove_file_once};
use crate::os::patience::while_held;
#[cfg(feature = "simulation")]
pub(crate) use crate::os::simulation::rename_once;
#[cfg(feature = "simulation")]
use crate::os::simulation::{hard_link_once, remove_file_once};

/// Gives a file another name in its directory; a file that had that name loses it, in the same step.
pub(crate) fn rename(directory: &Dir, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| rename_once(directory, from.as_ref(), to.as_ref()))
}

/// Gives a file a second name in its directory, which must be free.
pub(crate) fn hard_link(directory: &Dir, file: impl AsRef<Path>, name: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| hard_link_once(directory, file.as_ref(), name.as_ref()))
}

/// Unlinks a name that is no directory's.
pub(crate) fn remove_file(directory: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    while_held(|| remove_file_once(directory, name.as_ref()))
}
