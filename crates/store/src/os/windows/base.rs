//! Implements small functions that every system has, for Windows.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, FileType, OpenOptions};
use windows_sys::Win32::Foundation::ERROR_STOPPED_ON_SYMLINK;

use crate::os::seen::SpecialFile;

pub(crate) fn is_link_loop(error: &io::Error) -> bool {
    // cap-std returns this error for a link where links are forbidden.
    error.raw_os_error() == i32::try_from(ERROR_STOPPED_ON_SYMLINK).ok()
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

pub(crate) fn special(_: FileType) -> SpecialFile {
    SpecialFile::Other
}

pub(crate) fn no_terminal(_: &mut OpenOptions) {}

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

// Only an attempt to write shows whether writing is possible.
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

// A handle for reading cannot be flushed. NTFS has its own journal for names.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn sync_moved(_: &File) -> io::Result<()> {
    Ok(())
}

// Windows has no such operation. NTFS has its own journal for names.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn sync_directory(_: &Dir) -> io::Result<()> {
    Ok(())
}

// On Windows, paths already have the names that directories list.
pub(crate) fn stored_name(_: &Dir, _: &OsStr) -> Option<OsString> {
    None
}
