//! Simulates the behaviour of other systems under Linux: a file system or kernel that lacks features, and the
//! restrictions of Windows for programs that share files. This module can also leave out syncs and locks.
//! Tests that cut the power, or that record concurrent calls, then show that each sync and each lock is
//! needed. The module is built only with the feature `simulation`, never into a release. Each function here
//! replaces the function of the same name in `os`.
//!
//! The environment variable `MCP_TEXT_EDITOR_SIMULATE` lists the behaviours, separated by commas. If
//! `MCP_TEXT_EDITOR_SIMULATE_IN` names a directory, the behaviours of file systems apply only in that
//! directory, as if it were a mount. The server's state directory, which is elsewhere, then keeps the
//! behaviour of Linux.

use std::fs::{File, TryLockError};
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use cap_std::fs::Dir;

use crate::os::identity::Identity;
use crate::os::inode_flags::{Guard, Lost};
use crate::os::seen::Attributes;
use crate::os::{fallback, linux, linux_flags, linux_kernel, names_once, sync, unix};

/// The pause before and after a slow exchange.
const EXCHANGE: Duration = Duration::from_millis(2);

/// The simulated behaviours. All are off by default.
#[expect(clippy::struct_excessive_bools, reason = "each can be on or off beside each other")]
#[derive(Default, Debug)]
struct Simulated {
    /// Two names cannot be exchanged, and a rename cannot refuse a name that is taken (NTFS, FAT, much of
    /// FUSE).
    no_exchange: bool,
    /// A file cannot have several names (FAT).
    no_links: bool,
    /// A file does not keep its inode number (FAT, much of FUSE).
    no_identity: bool,
    /// Directories can be neither synced nor locked (Windows).
    no_directory_handles: bool,
    /// Attributes, locks, hard links, exchanges and the sync of directories fail with `ENOTSUP` (macOS on
    /// SMB).
    enotsup: bool,
    /// Everything that only Linux has is missing: leases, `openat2(2)`, `copy_file_range(2)`, files in
    /// memory. Every system without its own source file in this directory behaves like this.
    bare: bool,
    /// A lock prevents all other handles from reading and writing the bytes that the lock covers. As on
    /// Windows, this program locks only one byte, beyond the end of the file.
    mandatory_locks: bool,
    /// Locks are mandatory and cover the whole file, as std's locks do on Windows. With such locks, calls
    /// fail. A test expects this, to show that the simulated locks have an effect.
    whole_file_locks: bool,
    /// Two of three renames and unlinks fail, as if a virus scanner held the file open.
    sharing_violations: bool,
    /// Every rename and unlink of a file with `held` in its name fails, as if a program held the file open
    /// forever.
    held: bool,
    /// Paths can lead out of the roots, the directories that the server serves. No system behaves so. Tests
    /// use this to attack the server's second protection, Landlock, without the first one.
    no_containment: bool,
    /// A temporary file, which holds the new or the old content of a file, is not synced: `no-sync-content`.
    no_sync_content: bool,
    /// A file that was overwritten in place is not synced: `no-sync-in-place`.
    no_sync_in_place: bool,
    /// No directory is synced: `no-sync-directory`.
    no_sync_directory: bool,
    /// A file that was moved to another directory is not synced: `no-sync-moved`.
    no_sync_moved: bool,
    /// No record of the journal is synced: `no-sync-record`.
    no_sync_record: bool,
    /// No file is locked: `no-lock-file`.
    no_lock_file: bool,
    /// No record of the journal is locked, so that a running call looks as if its process were dead:
    /// `no-lock-record`.
    no_lock_record: bool,
    /// There is a pause before and after an exchange of names: `slow-exchange`. So concurrent calls certainly
    /// overlap, and one of them must wait for the other.
    slow_exchange: bool,
    /// The directory in which the behaviours of file systems apply; `None` means everywhere.
    within: Option<PathBuf>,
}

static SIMULATED: LazyLock<Simulated> = LazyLock::new(Simulated::of_environment);

impl Simulated {
    #[expect(clippy::disallowed_methods, reason = "no caller of the store has to know of this build")]
    #[expect(clippy::panic, reason = "a way that is misspelt would test nothing")]
    fn of_environment() -> Self {
        let within = std::env::var_os("MCP_TEXT_EDITOR_SIMULATE_IN").map(PathBuf::from);
        let mut ways = Self { within, ..Self::default() };
        let listed = std::env::var("MCP_TEXT_EDITOR_SIMULATE").unwrap_or_default();
        for way in listed.split(',').filter(|way| !way.is_empty()) {
            let switch = match way {
                "no-exchange" => &mut ways.no_exchange,
                "no-links" => &mut ways.no_links,
                "no-identity" => &mut ways.no_identity,
                "no-directory-handles" => &mut ways.no_directory_handles,
                "enotsup" => &mut ways.enotsup,
                "bare" => &mut ways.bare,
                "mandatory-locks" => &mut ways.mandatory_locks,
                "whole-file-locks" => &mut ways.whole_file_locks,
                "sharing-violations" => &mut ways.sharing_violations,
                "held" => &mut ways.held,
                "no-containment" => &mut ways.no_containment,
                "no-sync-content" => &mut ways.no_sync_content,
                "no-sync-in-place" => &mut ways.no_sync_in_place,
                "no-sync-directory" => &mut ways.no_sync_directory,
                "no-sync-moved" => &mut ways.no_sync_moved,
                "no-sync-record" => &mut ways.no_sync_record,
                "no-lock-file" => &mut ways.no_lock_file,
                "no-lock-record" => &mut ways.no_lock_record,
                "slow-exchange" => &mut ways.slow_exchange,
                unknown => panic!("{unknown} is no way of another system"),
            };
            *switch = true;
        }
        ways
    }

    /// Tells whether a behaviour of file systems applies to this file or directory. `on` tells whether the
    /// behaviour is simulated at all.
    fn is_here(&self, on: bool, file: impl AsFd) -> bool {
        let Some(within) = self.within.as_ref().filter(|_| on) else { return on };
        path_behind(file).is_some_and(|path| path.starts_with(within))
    }

    /// Returns the bytes that a lock covers: the offset of the first byte, and the number of bytes, where 0
    /// means all up to the end. Returns `None` if locks are not mandatory.
    fn locked_bytes(&self) -> Option<(i64, i64)> {
        match (self.whole_file_locks, self.mandatory_locks) {
            (true, _) => Some((0, 0)),
            (false, true) => Some((i64::MAX - 1, 1)),
            (false, false) => None,
        }
    }
}

fn path_behind(file: impl AsFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    unix::path_of(rustix::fs::readlink(link, Vec::new()).ok()?.into_bytes())
}

/// A simulated error of another system, which Linux never returns. std has no kind for such an error, so only
/// the functions in this module recognise it.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error, Debug)]
enum Said {
    /// macOS' `ENOTSUP` (45).
    #[error("operation not supported (simulated)")]
    NotSupported,
    /// Windows' `ERROR_LOCK_VIOLATION` (33).
    #[error("another handle has locked a part of the file (simulated)")]
    LockViolation,
    /// Windows' `ERROR_SHARING_VIOLATION` (32).
    #[error("another program has the file open (simulated)")]
    SharingViolation,
}

impl Said {
    fn is_in(self, error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) == Some(&self)
    }
}

impl From<Said> for io::Error {
    fn from(said: Said) -> Self {
        Self::other(said)
    }
}

pub(crate) fn has_containment() -> bool {
    !SIMULATED.no_containment
}

pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    sync::is_unsupported(error) || Said::NotSupported.is_in(error)
}

pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    unix::has_no_locks(error) || Said::NotSupported.is_in(error)
}

pub(crate) fn is_held_open(error: &io::Error) -> bool {
    unix::is_held_open(error) || Said::SharingViolation.is_in(error)
}

// Names

pub(crate) fn identity_lasts(directory: &Dir) -> bool {
    !SIMULATED.is_here(SIMULATED.no_identity, directory) && linux_kernel::identity_lasts(directory)
}

pub(crate) fn exchange(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.no_exchange || SIMULATED.enotsup, directory) {
        return fallback::exchange(directory, file, temporary);
    }
    let linger = || {
        if SIMULATED.slow_exchange {
            thread::sleep(EXCHANGE);
        }
    };
    linger();
    linux_kernel::exchange(directory, file, temporary).inspect(|()| linger())
}

pub(crate) fn rename_new(directory: &Dir, from: &Path, target: &Dir, to: &Path) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.no_exchange || SIMULATED.enotsup, directory) {
        return fallback::rename_new(directory, from, target, to);
    }
    linux_kernel::rename_new(directory, from, target, to)
}

pub(crate) fn hard_link_once(directory: &Dir, file: &Path, target: &Dir, name: &Path) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.enotsup, directory) {
        return Err(Said::NotSupported.into());
    }
    if SIMULATED.is_here(SIMULATED.no_links, directory) {
        // Linux returns this error on FAT.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    names_once::hard_link_once(directory, file, target, name)
}

pub(crate) fn rename_once(directory: &Dir, from: &Path, to: &Path) -> io::Result<()> {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    let_go(&[from, to], &TRIES)?;
    names_once::rename_once(directory, from, to)
}

pub(crate) fn remove_file_once(directory: &Dir, name: &Path) -> io::Result<()> {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    let_go(&[name], &TRIES)?;
    names_once::remove_file_once(directory, name)
}

/// Fails if a file with one of these names is simulated to be held open. `tries` counts the operations of one
/// kind. A caller that repeats a rename may unlink something in between; if both kinds had the same counter,
/// all renames of that caller could be among the failing operations.
fn let_go(names: &[&Path], tries: &AtomicUsize) -> io::Result<()> {
    let is_scanned = SIMULATED.sharing_violations && !tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
    let is_held = SIMULATED.held && names.iter().any(|name| name.to_string_lossy().contains("held"));
    if is_scanned || is_held { Err(Said::SharingViolation.into()) } else { Ok(()) }
}

// Directories

pub(crate) fn open_to_read(directory: &Dir) -> io::Result<File> {
    if SIMULATED.is_here(SIMULATED.no_directory_handles, directory) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    unix::open_to_read(directory)
}

pub(crate) fn sync_directory(directory: &Dir) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.no_directory_handles || SIMULATED.enotsup, directory) {
        return Ok(());
    }
    if SIMULATED.no_sync_directory { Ok(()) } else { unix::sync_directory(directory) }
}

// Syncs

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    if SIMULATED.no_sync_in_place { Ok(()) } else { sync::sync_all(file) }
}

/// Syncs a temporary file. This function is used for nothing else.
pub(crate) fn sync_before(file: &File) -> io::Result<()> {
    if SIMULATED.no_sync_content { Ok(()) } else { sync::sync_before(file) }
}

pub(crate) fn sync_moved(file: &File) -> io::Result<()> {
    if SIMULATED.no_sync_moved { Ok(()) } else { unix::sync_moved(file) }
}

/// Syncs the data of a journal record. This function is used for nothing else.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    if SIMULATED.no_sync_record { Ok(()) } else { sync::sync_data(file) }
}

// Locks

pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    if SIMULATED.is_here(SIMULATED.enotsup, file) {
        return Err(TryLockError::Error(Said::NotSupported.into()));
    }
    if is_left_unlocked(file) {
        return Ok(());
    }
    unix::try_lock(file)?;
    if let Some(bytes) =
        SIMULATED.locked_bytes().filter(|_| file.metadata().is_ok_and(|about| about.is_file()))
    {
        // A handle that can only read cannot get an exclusive lock on bytes, so this lock is shared. The
        // flock(2) above excludes others.
        lock_bytes(file, libc::F_OFD_SETLK, libc::F_RDLCK, bytes).map_err(TryLockError::Error)?;
    }
    Ok(())
}

/// Tells whether a lock is reported as taken although it is not. A journal record is recognised by its
/// directory, whose name `state_dir` defines.
fn is_left_unlocked(file: &File) -> bool {
    if !(SIMULATED.no_lock_file || SIMULATED.no_lock_record)
        || !file.metadata().is_ok_and(|about| about.is_file())
    {
        return false;
    }
    let of = |path: PathBuf| path.parent().is_some_and(|parent| parent.ends_with("journal"));
    if path_behind(file).is_some_and(of) { SIMULATED.no_lock_record } else { SIMULATED.no_lock_file }
}

/// Fails if another handle has locked one of these bytes.
fn ask_locks(file: &File, offset: u64, length: usize) -> io::Result<()> {
    let (Some(_), Ok(length @ 1..)) = (SIMULATED.locked_bytes(), i64::try_from(length)) else {
        return Ok(());
    };
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    match lock_bytes(file, libc::F_OFD_GETLK, libc::F_WRLCK, (offset, length))? {
        libc::F_UNLCK => Ok(()),
        _ => Err(Said::LockViolation.into()),
    }
}

/// Sets a lock on bytes, or queries the locks of others (`F_OFD_SETLK`, `F_OFD_GETLK` of fcntl(2)). Returns
/// the lock type in fcntl's answer. Such a lock covers a range of bytes, whereas a lock of flock(2) covers
/// the whole file.
#[expect(unsafe_code, reason = "rustix has no locks of open file descriptions")]
fn lock_bytes(file: &File, command: libc::c_int, kind: libc::c_int, bytes: (i64, i64)) -> io::Result<i32> {
    let mut lock = libc::flock64 {
        l_type: libc::c_short::try_from(kind).unwrap_or_default(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: bytes.0,
        l_len: bytes.1,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open as long as `file` is borrowed, and these commands take a pointer to this
    // structure.
    if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(lock.l_type.into())
}

// Content

pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    ask_locks(file, offset, buffer.len())?;
    unix::read_at(file, buffer, offset)
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    ask_locks(file, offset, bytes.len())?;
    unix::write_all_at(file, bytes, offset)
}

pub(crate) fn copy_in_kernel(
    from: &File,
    offset: u64,
    to: &File,
    length: usize,
) -> io::Result<Option<usize>> {
    ask_locks(from, offset, length)?;
    if SIMULATED.bare {
        return fallback::copy_in_kernel(from, offset, to, length);
    }
    linux_kernel::copy_in_kernel(from, offset, to, length)
}

/// Defines functions that call the function of the same name in `fallback` if `bare` is simulated, and
/// Linux's function otherwise.
macro_rules! bare {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $linux:ident;)*) => {$(
        pub(crate) fn $name($($argument: $type),*) -> $result {
            if SIMULATED.bare { fallback::$name($($argument),*) } else { $linux::$name($($argument),*) }
        }
    )*};
}

bare! {
    fn memory_file() -> io::Result<File> = linux;
    fn begin_sync(file: &File, from: u64, length: u64) -> () = linux;
    fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> = linux;
    fn is_open_for_writing(file: &File) -> Option<bool> = linux;
    fn is_mount_point(file: &File) -> bool = linux;
    fn ask_anew(file: &File) -> () = linux;
    fn open_directory_beneath(root: &Dir, relative: &Path) -> Option<Dir> = linux;
    fn identity_at_once(root: &Dir, relative: &Path) -> Option<Identity> = linux;
    fn is_local(directory: &Dir) -> bool = linux_kernel;
    fn guard_at(directory: &Dir, name: &Path) -> Option<Guard> = linux_flags;
    fn lacks_key(error: &io::Error) -> bool = linux_flags;
    fn keep_flags(old: &File, new: &File) -> Lost = linux_flags;
    fn network_file_system(directory: &Dir) -> io::Result<Option<&'static str>> = linux_kernel;
}

// Attributes

pub(crate) fn attributes_of(file: &File) -> io::Result<Attributes> {
    if SIMULATED.bare || SIMULATED.is_here(SIMULATED.enotsup, file) {
        return fallback::attributes_of(file);
    }
    linux::attributes_of(file)
}

pub(crate) fn set_attribute(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.enotsup, file) {
        return Err(Said::NotSupported.into());
    }
    if SIMULATED.bare {
        fallback::set_attribute(file, name, value)
    } else {
        linux::set_attribute(file, name, value)
    }
}

pub(crate) fn remove_attribute(file: &File, name: &[u8]) -> io::Result<()> {
    if SIMULATED.is_here(SIMULATED.enotsup, file) {
        return Err(Said::NotSupported.into());
    }
    if SIMULATED.bare { fallback::remove_attribute(file, name) } else { linux::remove_attribute(file, name) }
}
