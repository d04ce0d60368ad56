//! Locks files, so that check and write are atomic for all processes that edit through this server.
//!
//! The lock is on the file itself (flock(2); on Windows, `LockFileEx`), so it needs no separate lock file and
//! ends with the process that holds it. When a file is replaced, its lock stays with the old inode. So a lock
//! counts only while the path still leads to the locked inode.

pub(crate) mod deferred_close;
mod file_lock;

pub(crate) use file_lock::{Backoff, LockTimeout};
pub(crate) use file_lock::{LockedFile, LockedSet, lock_all_with, lock_directory};
#[cfg(test)]
pub(crate) use file_lock::{lock, lock_all};
