//! Opens and reads the directories and files of a walk.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::fs::MetadataExt as _;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;

use crate::os::seen::Listed;
use crate::os::windows::dir::Dir;
use crate::os::windows::names::open_directory;
use crate::os::windows::tags::{as_programs_see, is_elsewhere};

pub(crate) fn open_to_list(parent: &Dir, name: &Path) -> io::Result<Dir> {
    if name == Path::new(".") { parent.try_clone() } else { open_directory(parent, name) }
}

pub(crate) fn for_each_name(
    directory: &Dir,
    mut each: impl FnMut(OsString, Listed) -> bool,
) -> io::Result<()> {
    for entry in directory.entries()? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_dir() => Listed::Directory,
            () if kind.is_file() && is_elsewhere(metadata.file_attributes()) => Listed::Elsewhere,
            () if kind.is_file() => Listed::File,
            () if kind.is_symlink() => Listed::Link,
            () => Listed::Special,
        };
        if !each(entry.file_name(), kind) {
            break;
        }
    }
    Ok(())
}

pub(crate) fn open_to_read_file(directory: &Dir, name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    as_programs_see(directory.open_with(name, &options)?.into_std(), false)
}
