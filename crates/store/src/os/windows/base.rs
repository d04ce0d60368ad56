//! What Windows has of the small functions that every system has.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _, OpenOptionsMaybeDirExt as _};
use cap_std::fs::{Dir, FileType, OpenOptions};

use crate::os::identity::Identity;
use crate::os::seen::{Seen, SpecialFile};
use crate::os::unsupported::is_unsupported;

pub(crate) fn is_link_loop(_: &io::Error) -> bool {
    false
}

/// `ERROR_SHARING_VIOLATION`, for which std has no kind. Directory handles that this process has open cause it, too.
pub(crate) fn is_held_open(error: &io::Error) -> bool {
    error.raw_os_error() == Some(32)
}

pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = file.seek_write(bytes, offset)?;
        bytes = bytes.get(written..).unwrap_or_default();
        offset += written as u64;
    }
    Ok(())
}

// std does not tell; so a file of several names is replaced under the one that was given.
pub(crate) fn links_of(_: &Metadata) -> u64 {
    1
}

pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    identity_with(file, &file.metadata()?)
}

pub(crate) fn identity_with(file: &File, metadata: &Metadata) -> io::Result<Identity> {
    // Only the metadata of an open file has the two numbers.
    let numbers = cap_std::fs::File::from_std(file.try_clone()?).metadata()?;
    let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mtime = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
    Ok(Identity { device: numbers.dev(), inode: numbers.ino(), size: metadata.len(), mtime, ctime: mtime })
}

pub(crate) fn identity_at(directory: &Dir, name: &Path) -> io::Result<Identity> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).maybe_dir(true);
    identity_of(&directory.open_with(name, &options)?.into_std())
}

pub(crate) fn key_of(_: &Metadata) -> Option<(u64, u64)> {
    None
}

pub(crate) fn key_of_directory(directory: &Dir) -> io::Result<(u64, u64)> {
    let metadata = directory.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

pub(crate) fn key_at(_: &Dir, _: &OsStr) -> Option<(u64, u64)> {
    None
}

pub(crate) fn look(_: &Dir, path: &Path, relative: &Path) -> Option<Seen> {
    let is_link = path.join(relative).symlink_metadata().ok()?.is_symlink();
    Some(Seen { is_link, key: None, links: 1 })
}

pub(crate) fn key_of_parent(_: &Dir) -> Option<(u64, u64)> {
    None
}

pub(crate) fn special(_: FileType) -> SpecialFile {
    SpecialFile::Other
}

pub(crate) fn no_terminal(_: &mut OpenOptions) {}

// Directories in a user's profile are private by inheritance.
pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).create(path)
}

pub(crate) fn creation_mode(_: &mut OpenOptions, _: u32) {}

#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
#[cfg_attr(not(feature = "history"), expect(dead_code, reason = "only the database asks for it"))]
pub(crate) fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn may_write(directory: &Dir, name: &Path) -> io::Result<()> {
    let readonly = directory.symlink_metadata(name)?.permissions().readonly();
    if readonly { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

pub(crate) fn lock_needs_writing(_: &io::Error) -> bool {
    false
}

pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    is_unsupported(error)
}

// A write tells.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn check_writable(_: &Dir) -> io::Result<()> {
    Ok(())
}

pub(crate) fn bytes_of(path: &Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}

pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

pub(crate) fn open_to_read(_: &Dir) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

// Windows has no such operation; NTFS journals its names.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn sync_directory(_: &Dir) -> io::Result<()> {
    Ok(())
}
