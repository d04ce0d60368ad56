//! Waits until a file is on disk ([`sync_all`], [`sync_data`]), or only makes sure that the file reaches the
//! disk before any later write ([`sync_before`]).
//!
//! On macOS, fsync(2) leaves bytes in the disk's own cache, so std uses `F_FULLFSYNC`, which flushes the
//! cache of the whole disk and takes milliseconds. A barrier (`F_BARRIERFSYNC`) only orders writes. Some file
//! systems of macOS (SMB, exFAT, FUSE) support neither. For them, the functions fall back to fsync(2), as
//! SQLite does; the effect of fsync(2) depends on the file system.
//!
//! Recognises errors that say that the system, or the file system, lacks an operation: [`is_unsupported`].

use std::fs::File;
use std::io;

/// Waits until the file's bytes and metadata are on disk. On macOS, also waits for everything that was synced
/// before on the same file system.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    or_fall_back(file, file.sync_all())
}

/// Waits until the file's bytes are on disk, with the metadata that is needed to read them.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    or_fall_back(file, file.sync_data())
}

/// Makes sure that no later write on the same file system survives a power cut without the file's bytes and
/// metadata. Until the next [`sync_all`] on that file system, the file and the later writes may be lost
/// together.
pub(crate) fn sync_before(file: &File) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    return unless_unsupported(barrier(file), || sync_all(file));
    #[cfg(not(target_vendor = "apple"))]
    sync_all(file)
}

/// Sends a file's bytes to the disk, and makes the disk store them before all later writes
/// (`F_BARRIERFSYNC`).
#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "no crate at hand has this command")]
fn barrier(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the command takes nothing else.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_BARRIERFSYNC) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_vendor = "apple")]
fn or_fall_back(file: &File, synced: io::Result<()>) -> io::Result<()> {
    unless_unsupported(synced, || Ok(rustix::fs::fsync(file)?))
}

#[cfg(not(target_vendor = "apple"))]
fn or_fall_back(_: &File, synced: io::Result<()>) -> io::Result<()> {
    synced
}

/// Returns the result of a sync or, if the file system does not support that kind of sync, the result of
/// `other`. After any other error, `other` is not tried: a second sync would succeed although bytes are lost.
#[cfg(any(target_vendor = "apple", all(test, unix)))]
fn unless_unsupported(synced: io::Result<()>, other: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if error.raw_os_error().is_some_and(crate::os::apple::lacks_sync) => other(),
        synced => synced,
    }
}

/// Tells whether `error` says that the system, or the file system, lacks the operation. An error because of
/// permissions does not count.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    #[cfg(target_vendor = "apple")]
    if error.raw_os_error().is_some_and(crate::os::apple::is_unsupported) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn another_way_is_for_file_systems_that_lack_the_first() {
        // ENOTTY, ENOTSUP on macOS, EIO, none.
        for (number, tries) in [(Some(25), 1), (Some(45), 1), (Some(5), 0), (None, 0)] {
            let mut tried = 0;
            let first = number.map_or(Ok(()), |number| Err(io::Error::from_raw_os_error(number)));
            let synced = unless_unsupported(first, || {
                tried += 1;
                Ok(())
            });
            assert_eq!((tried, synced.is_ok()), (tries, number != Some(5)), "{number:?}");
        }
    }

    #[cfg(target_vendor = "apple")]
    #[test]
    fn a_barrier_is_known_to_the_system() {
        let file = tempfile::tempfile().unwrap();
        let number = barrier(&file).err().and_then(|error| error.raw_os_error());
        assert!(number.is_none_or(crate::os::apple::lacks_sync), "{number:?}");
    }
}
