//! Checks whether a file can be replaced, which depends on how other programs have opened it, and renames
//! files without replacing others.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::io::{AsRawHandle, FromRawHandle as _};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER,
    ERROR_LOCK_VIOLATION, ERROR_NOT_SUPPORTED, ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE,
    INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, MOVE_FILE_FLAGS, MoveFileExW, ReOpenFile,
};

use crate::os::windows::identity::opened_path;

/// Tells whether an error has one of these numbers.
pub(in crate::os) fn is_one_of(error: &io::Error, numbers: &[u32]) -> bool {
    let number = error.raw_os_error().and_then(|number| u32::try_from(number).ok());
    number.is_some_and(|number| numbers.contains(&number))
}

// Handles of this process cause these errors, too. A file that a program has mapped can be neither truncated
// nor replaced.
pub(crate) fn is_held_open(error: &io::Error) -> bool {
    is_one_of(error, &[ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION, ERROR_USER_MAPPED_FILE])
}

// Where renames have no POSIX semantics (FAT, exFAT, shares), the rename of an open file also fails with
// "access denied". The file is always open when it is renamed here, because this process holds a lock on it.
pub(crate) fn keeps_its_name(error: &io::Error) -> bool {
    let lacks =
        [ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED];
    is_one_of(error, &lacks) || is_one_of(error, &[ERROR_ACCESS_DENIED])
}

pub(crate) fn why_not_renamed(file: &File, error: io::Error) -> io::Error {
    if !is_one_of(&error, &[ERROR_ACCESS_DENIED]) {
        return error;
    }
    check_may_lose_a_name(file).err().unwrap_or(error)
}

// This open allows all sharing, so only another handle without FILE_SHARE_DELETE can prevent it.
pub(crate) fn check_may_lose_a_name(file: &File) -> io::Result<()> {
    match reopen(file, DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE) {
        Err(held) if is_held_open(&held) => Err(held),
        // The rename itself reports any other reason.
        _ => Ok(()),
    }
}

/// Opens the file or directory of a handle again, with other access rights.
#[expect(unsafe_code, reason = "std opens files by name only, and the name can have become another file's")]
pub(super) fn reopen(file: &impl AsRawHandle, access: u32, share: u32) -> io::Result<File> {
    // With this flag, `file` can be a directory. SAFETY: the handle is open as long as `file` is borrowed.
    let handle = unsafe { ReOpenFile(file.as_raw_handle(), access, share, FILE_FLAG_BACKUP_SEMANTICS) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened, and belongs to nobody else.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// Opens the same file again. Fails if a program has the file open or mapped for writing. As long as the new
/// handle exists, nobody can open the file for writing, but everybody can read, rename and remove it.
fn without_writers(file: &File) -> io::Result<File> {
    reopen(file, FILE_GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE)
}

pub(crate) fn refuse_writers(file: &File) -> io::Result<Option<File>> {
    match without_writers(file) {
        Err(error) if !is_held_open(&error) => Ok(None),
        opened => opened.map(Some),
    }
}

pub(crate) fn is_open_for_writing(file: &File) -> Option<bool> {
    match without_writers(file) {
        Ok(_) => Some(false),
        // Since `file` is open, the file can be read. So only a writer can make this open fail.
        Err(error) => is_held_open(&error).then_some(true),
    }
}

/// Renames a file in one system call, also to another directory. Fails if the new name is taken.
#[expect(unsafe_code, reason = "std's rename replaces what has the name")]
pub(crate) fn rename_new(directory: &Dir, from: &Path, target: &Dir, to: &Path) -> io::Result<()> {
    /// No flags: the move neither replaces a file nor copies to another volume.
    const NEW_ONLY: MOVE_FILE_FLAGS = 0;
    let wide = |path: PathBuf| path.as_os_str().encode_wide().chain([0]).collect::<Vec<_>>();
    let (from, to) = (wide(opened_path(directory)?.join(from)), wide(opened_path(target)?.join(to)));
    // SAFETY: both end in a zero, and live until the call is over.
    let done = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), NEW_ONLY) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
