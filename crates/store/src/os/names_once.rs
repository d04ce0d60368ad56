//! Changes names in a directory with a single attempt. [`names`](crate::os::names) calls these functions
//! again while another program holds the file open.

use std::io;
use std::path::Path;

use crate::os::directory::Dir;

pub(crate) fn rename_once(directory: &Dir, from: &Path, to: &Path) -> io::Result<()> {
    directory.rename(from, directory, to)
}

pub(crate) fn hard_link_once(directory: &Dir, file: &Path, target: &Dir, name: &Path) -> io::Result<()> {
    directory.hard_link(file, target, name)
}

pub(crate) fn remove_file_once(directory: &Dir, name: &Path) -> io::Result<()> {
    directory.remove_file(name)
}
