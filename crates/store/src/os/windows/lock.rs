//! Takes locks that behave like those of flock(2): a lock excludes other locks, but prevents nobody from
//! reading or writing.

use std::fs::{File, TryLockError};
use std::io;
use std::os::windows::io::AsRawHandle as _;

use windows_sys::Win32::Foundation::{
    ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_IO_PENDING, ERROR_LOCK_VIOLATION,
    ERROR_NOT_SUPPORTED, HANDLE,
};
use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

use crate::os::windows::replace::is_one_of;

/// The offset of the byte that stands for the whole file, as its low and high half. Locks of Windows are
/// mandatory: reading or writing a locked byte through another handle fails. No file is long enough to have
/// this byte, and bytes beyond a file's end can be locked, too.
const BYTE: (u32, u32) = (0xFFFF_FFFE, 0x7FFF_FFFF);

/// Takes the lock on a file, unless it is held through another handle. The lock is held until the handle and
/// all its clones are closed.
#[expect(unsafe_code, reason = "std locks all bytes of a file, which keeps everybody from reading it")]
pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    let offset = OVERLAPPED_0_0 { Offset: BYTE.0, OffsetHigh: BYTE.1 };
    let mut at = OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: offset }, ..OVERLAPPED::default() };
    let handle: HANDLE = file.as_raw_handle();
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open as long as `file` is borrowed. It is not a handle for overlapped operations,
    // so `at` is not used any more when the call returns.
    if unsafe { LockFileEx(handle, flags, 0, 1, 0, &raw mut at) } != 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let is_held = is_one_of(&error, &[ERROR_LOCK_VIOLATION, ERROR_IO_PENDING]);
    Err(if is_held { TryLockError::WouldBlock } else { TryLockError::Error(error) })
}

pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    is_one_of(error, &[ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED])
}
