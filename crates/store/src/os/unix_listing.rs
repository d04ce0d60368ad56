//! Opens and reads the directories and files of a walk, in as few system calls as possible.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::os::directory::Dir;
use crate::os::seen::Listed;

/// Opens a directory by its name in another, or by `.`, so that its names can be read. The name must not be a
/// link.
pub(crate) fn open_to_list(parent: &Dir, name: &Path) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(directory)))
}

/// Calls `each` once for every name in a directory that [`open_to_list`] opened, with the kind of the entry,
/// until it returns `false`.
pub(crate) fn for_each_name(
    directory: &Dir,
    mut each: impl FnMut(OsString, Listed) -> bool,
) -> io::Result<()> {
    let handle = directory.try_clone()?.into_std_file();
    for entry in rustix::fs::Dir::new(handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Not every file system tells the kind with the name.
            FileType::Unknown => {
                match rustix::fs::statat(directory, Path::new(name), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(seen) => FileType::from_raw_mode(seen.st_mode),
                    Err(_) => FileType::Unknown,
                }
            }
            known => known,
        };
        let kind = match kind {
            FileType::RegularFile if is_elsewhere(directory, Path::new(name)) => Listed::Elsewhere,
            FileType::RegularFile => Listed::File,
            FileType::Directory => Listed::Directory,
            FileType::Symlink => Listed::Link,
            _ => Listed::Special,
        };
        if !each(name.to_owned(), kind) {
            break;
        }
    }
    Ok(())
}

/// Tells whether a file is a placeholder for content in a cloud: `SF_DATALESS` (sys/stat.h).
#[cfg(target_vendor = "apple")]
fn is_elsewhere(directory: &Dir, name: &Path) -> bool {
    const DATALESS: u32 = 0x4000_0000;
    let about = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    about.is_ok_and(|about| about.st_flags & DATALESS != 0)
}

/// Returns false: these systems have no mark for it.
#[cfg(not(target_vendor = "apple"))]
fn is_elsewhere(_: &Dir, _: &Path) -> bool {
    false
}

/// Opens a file by its name in a directory, for reading, without waiting. The name must not be a link. The
/// caller must check the kind of the file afterwards.
pub(crate) fn open_to_read_file(directory: &Dir, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?))
}
