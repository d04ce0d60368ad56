//! Waits until a file is on disk: [`sync_all`] and [`sync_data`].
//!
//! On macOS, fsync(2) leaves bytes in the disk's own cache, so std uses `F_FULLFSYNC`. Some file systems
//! there (SMB, exFAT, FUSE) do not support it. For them, this falls back to fsync(2), as SQLite does; its
//! effect depends on the file system.

use std::fs::File;
use std::io;

/// Waits until the file's bytes and metadata are on disk.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    or_as_it_can(file, file.sync_all())
}

/// Waits until the file's bytes are on disk, with the metadata that is needed to read them.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    or_as_it_can(file, file.sync_data())
}

#[cfg(target_vendor = "apple")]
fn or_as_it_can(file: &File, synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if error.raw_os_error().is_some_and(crate::os::apple::lacks_full_sync) => {
            Ok(rustix::fs::fsync(file)?)
        }
        synced => synced,
    }
}

#[cfg(not(target_vendor = "apple"))]
fn or_as_it_can(_: &File, synced: io::Result<()>) -> io::Result<()> {
    synced
}
