//! Determines the identity of a file, its size and times, and its hard link count. A file is identified by
//! the serial number of its volume and its file ID. On ReFS, a file ID has 128 bits.

use std::ffi::{OsStr, OsString, c_void};
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::OsStringExt as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_READ_ATTRIBUTES, FileBasicInfo, FileIdInfo,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFinalPathNameByHandleW,
    GetVolumeInformationByHandleW,
};

use crate::os::identity::Identity;
use crate::os::seen::Seen;

/// The year 1970 in the clock of Windows, which counts steps of 100 ns from 1601.
const EPOCH: i64 = 116_444_736_000_000_000;

/// Returns the information of one class about an open file or directory.
///
/// # Safety
///
/// `T` must be the structure of that class, and every bit pattern must be a valid `T`.
#[expect(
    unsafe_code,
    reason = "std returns neither 128 bits of the file's number nor the time of its last change"
)]
pub(super) unsafe fn ask<T: Default>(
    file: &impl AsRawHandle,
    class: FILE_INFO_BY_HANDLE_CLASS,
) -> io::Result<T> {
    let mut info = T::default();
    let size = u32::try_from(size_of::<T>()).unwrap_or_default();
    let (handle, room) = (file.as_raw_handle(), (&raw mut info).cast::<c_void>());
    // SAFETY: the handle is open as long as `file` is borrowed, `room` has `size` bytes, and every bit
    // pattern is a valid `T`.
    let done = unsafe { GetFileInformationByHandleEx(handle, class, room, size) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// Returns the times and attributes of an open file or directory.
#[expect(unsafe_code, reason = "as `ask` says")]
pub(super) fn basics(file: &impl AsRawHandle) -> io::Result<FILE_BASIC_INFO> {
    // SAFETY: this class has this structure (winbase.h).
    unsafe { ask(file, FileBasicInfo) }
}

#[expect(unsafe_code, reason = "std has these numbers only for its own nightly versions")]
fn numbers(file: &impl AsRawHandle) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file` is borrowed, and `info` is the structure that is filled.
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// Returns the key of a file: the serial number of its volume and its file ID.
///
/// Each returned number has 64 bits, as on other systems. The upper half of the file ID, which is zero except
/// on ReFS, is mixed into the serial number. Two files on one volume still have different keys. Files on
/// different volumes almost certainly have different keys, too, because serial numbers are random.
#[expect(unsafe_code, reason = "as `ask` says")]
pub(super) fn key(file: &impl AsRawHandle) -> io::Result<(u64, u64)> {
    // SAFETY: this class has this structure (winbase.h).
    if let Ok(info) = unsafe { ask::<FILE_ID_INFO>(file, FileIdInfo) } {
        let number = u128::from_le_bytes(info.FileId.Identifier);
        // A file system without lasting file IDs returns 0 or all ones.
        if number == 0 || number == u128::MAX {
            return short_key(file);
        }
        let [low, high] = [number, number >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)));
        let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
        return Ok((info.VolumeSerialNumber ^ high.rotate_left(32), low));
    }
    short_key(file)
}

/// Returns the key on a file system without `FileIdInfo`, such as FAT and some network file systems: a serial
/// number of 32 bits and a file ID of 64 bits.
fn short_key(file: &impl AsRawHandle) -> io::Result<(u64, u64)> {
    let info = numbers(file)?;
    let number = wide(info.nFileIndexHigh, info.nFileIndexLow);
    Ok((u64::from(info.dwVolumeSerialNumber), number))
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn nanoseconds(time: i64) -> i128 {
    i128::from(time - EPOCH) * 100
}

pub(crate) fn links_of(file: &File, _: &Metadata) -> u64 {
    // A file system that does not report the link count does not support hard links.
    numbers(file).map_or(1, |info| u64::from(info.nNumberOfLinks))
}

pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    let ((device, inode), basics, numbers) = (key(file)?, basics(file)?, numbers(file)?);
    let mtime = nanoseconds(basics.LastWriteTime);
    // File systems without a time of change return 0.
    let ctime = if basics.ChangeTime == 0 { mtime } else { nanoseconds(basics.ChangeTime) };
    let size = wide(numbers.nFileSizeHigh, numbers.nFileSizeLow);
    // On NTFS and ReFS, a file ID includes a number that increases each time the ID is reused. So the time of
    // creation is not needed. It would not help, either: a new file that soon gets the name of a deleted file
    // inherits its time of creation.
    Ok(Identity { device, inode, size, mtime, ctime, born: None })
}

/// Whether a file on the directory's volume keeps its file ID. That is so if a file can be opened by its ID,
/// as on NTFS and `ReFS`. On FAT, the ID is the position of the directory entry, which a rename can change.
#[expect(unsafe_code, reason = "std does not return the features of a volume")]
pub(crate) fn identity_lasts(directory: &Dir) -> bool {
    // FILE_SUPPORTS_OPEN_BY_FILE_ID of winnt.h.
    const BY_NUMBER: u32 = 0x0100_0000;
    let mut flags = 0;
    // SAFETY: the handle is open as long as `directory` is borrowed, and only the flags are requested.
    let done = unsafe {
        GetVolumeInformationByHandleW(
            directory.as_raw_handle(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut flags,
            std::ptr::null_mut(),
            0,
        )
    };
    done != 0 && flags & BY_NUMBER != 0
}

// Std's metadata has neither the key nor the time of change.
pub(crate) fn identity_with(file: &File, _: &Metadata) -> io::Result<Identity> {
    identity_of(file)
}

pub(crate) fn identity_at(directory: &Dir, name: &Path) -> io::Result<Identity> {
    identity_of(&open_to_query(directory, name)?)
}

/// Opens the file (or link) with a name in a directory, only to query its metadata. No share mode of other
/// handles prevents this, and the handle does not restrict other programs.
pub(super) fn open_to_query(directory: &Dir, name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.access_mode(FILE_READ_ATTRIBUTES).follow(FollowSymlinks::No);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    Ok(directory.open_with(name, &options)?.into_std())
}

/// Opens a file like [`open_to_query`], by a path. Follows links in the middle of the path.
fn open_path_to_query(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.access_mode(FILE_READ_ATTRIBUTES);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    options.open(path)
}

// Std's metadata does not have the key; `key_at` returns it.
pub(crate) fn key_of(_: &Metadata) -> Option<(u64, u64)> {
    None
}

pub(crate) fn key_of_directory(directory: &Dir) -> io::Result<(u64, u64)> {
    key(directory)
}

pub(crate) fn key_at(directory: &Dir, name: &OsStr) -> Option<(u64, u64)> {
    key(&open_to_query(directory, Path::new(name)).ok()?).ok()
}

// The full path is used, because opening relative to a directory handle follows no link in the middle.
pub(crate) fn look(_: &Dir, path: &Path, relative: &Path) -> Option<Seen> {
    let file = open_path_to_query(&path.join(relative)).ok()?;
    let metadata = file.metadata().ok()?;
    Some(Seen { is_link: metadata.is_symlink(), key: key(&file).ok(), links: links_of(&file, &metadata) })
}

pub(crate) fn key_of_parent(directory: &Dir) -> Option<(u64, u64)> {
    let path = opened_path(directory).ok()?;
    key(&open_path_to_query(path.parent()?).ok()?).ok()
}

/// Returns the current path of an open file or directory, of any length, with the prefix `\\?\`, so that
/// Windows uses the path unchanged.
#[expect(unsafe_code, reason = "std does not return the path of a handle")]
pub(super) fn opened_path(file: &impl AsRawHandle) -> io::Result<PathBuf> {
    let mut path = vec![0; 300];
    loop {
        let room = u32::try_from(path.len()).unwrap_or(u32::MAX);
        // SAFETY: the handle is open as long as `file` is borrowed, and the buffer has `room` units.
        let length = unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), room, 0) };
        match path.get(..usize::try_from(length).unwrap_or(usize::MAX)) {
            Some([]) => return Err(io::Error::last_os_error()),
            Some(whole) if length < room => return Ok(PathBuf::from(OsString::from_wide(whole))),
            _ if length > 65_536 => return Err(io::ErrorKind::InvalidFilename.into()),
            // The buffer is too small: `length` is the size that the path needs.
            _ => path.resize(usize::try_from(length).unwrap_or_default() + 1, 0),
        }
    }
}
