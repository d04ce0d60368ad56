//! Reads the bytes of a file from its storage, bypassing the caches of this machine ([`open_stored`]), or
//! drops these caches ([`forget_cached`]).
//!
//! A file that another machine overwrites keeps its inode. So a network file system may continue to show its
//! old content, in spite of a lock. A read with `O_DIRECT` gets the bytes from the storage (open(2); measured
//! with `GlusterFS`).

use std::fs::File;
use std::io;
use std::path::Path;

use crate::os::directory::Dir;

/// Opens a file for reads that bypass all caches. Returns `None` if no other machine can write to the file
/// system, or if the file system does not support this.
#[cfg(target_os = "linux")]
pub(crate) fn open_stored(directory: &Dir, name: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, openat};

    if !is_shared(directory)? {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(directory, name, flags, Mode::empty()) {
        Ok(opened) => Ok(Some(opened.into())),
        Err(rustix::io::Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Tells whether other machines may write to a directory's file system: a network file system, or FUSE, which
/// hides where its files are.
#[cfg(target_os = "linux")]
pub(super) fn is_shared(directory: &Dir) -> io::Result<bool> {
    const FUSE: u32 = 0x6573_5546;
    let kind = rustix::fs::fstatfs(directory)?.f_type;
    // The number has 32 bits, but the field is as wide as a machine word, and signed on most machines.
    let kind = kind.to_le_bytes().first_chunk().map(|low| u32::from_le_bytes(*low));
    Ok(kind.is_some_and(|kind| kind == FUSE || crate::os::network::named(kind).is_some()))
}

/// Tells whether the directory is on `GlusterFS`, which may list a name with a wrong inode number until the
/// name is given to another file. Its server lists numbers from memory (seen with 10.3 under load, with three
/// machines that replaced one file; lookups, the attribute `trusted.gfid` and the stored file agreed with
/// each other).
#[cfg(target_os = "linux")]
pub(crate) fn may_list_wrongly(directory: &Dir) -> bool {
    let mut gfid = [0_u8; 64];
    crate::os::open_to_read(directory)
        .is_ok_and(|opened| rustix::fs::fgetxattr(&opened, "glusterfs.gfid.string", &mut gfid).is_ok())
}

/// Returns `false`: only Linux is supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_list_wrongly(_: &Dir) -> bool {
    false
}

/// Drops this machine's cached bytes of a file, as far as possible. `file` must be open for writing and lie
/// in `directory`. Does nothing if no other machine can write to that file system.
#[cfg(target_os = "linux")]
pub(crate) fn forget_cached(directory: &Dir, file: &File) {
    use rustix::fs::{FallocateFlags, fallocate};

    if !is_shared(directory).unwrap_or_default() {
        return;
    }
    // A FUSE process drops its cache of a file when it changes the file, but not when a read bypasses the
    // cache. So this call reserves space for a byte that the file already has, which changes nothing.
    fallocate(file, FallocateFlags::KEEP_SIZE, 0, 1).ok();
    // If the kernel ignores the request, the next read returns stale bytes, too, and the caller detects this
    // again.
    forget_pages(file);
}

/// Asks the kernel to drop its cached bytes of a file. The kernel may ignore the request.
#[cfg(target_os = "linux")]
pub(super) fn forget_pages(file: &File) {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).ok();
}

/// Returns `None`: only Linux is supported.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "Linux has a way that can fail")]
pub(crate) fn open_stored(_: &Dir, _: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Returns `false`: only Linux is supported.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "Linux has a way that can fail")]
pub(super) fn is_shared(_: &Dir) -> io::Result<bool> {
    Ok(false)
}

/// Does nothing: only Linux is supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_cached(_: &Dir, _: &File) {}

/// Does nothing: only Linux is supported.
#[cfg(not(target_os = "linux"))]
pub(super) fn forget_pages(_: &File) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::fs::{OFlags, fcntl_getfl};
    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::os::read_at;
    use crate::tests::mounted::Mounted;
    use crate::tests::world::opened;

    #[test]
    fn only_where_others_may_write_caches_are_passed() {
        let below = tempfile::tempdir().unwrap();
        fs::write(below.path().join("a"), "one").unwrap();
        std::os::unix::fs::symlink("a", below.path().join("link")).unwrap();
        assert!(open_stored(&opened(below.path()), Path::new("a")).unwrap().is_none());
        assert!(open_stored(&opened(below.path()), Path::new("none")).unwrap().is_none());
        let Some(shared) = Mounted::fuse(below.path(), &[]) else { return };
        let directory = opened(&shared.path(""));
        let file = open_stored(&directory, Path::new("a")).unwrap().unwrap();
        let mut bytes = [0; 4];
        assert_eq!((read_at(&file, &mut bytes, 0).unwrap(), &bytes), (3, b"one\0"));
        let flags = fcntl_getfl(&file).unwrap();
        assert!(flags.contains(OFlags::DIRECT | OFlags::NONBLOCK), "{flags:?}");
        assert_eq!(fcntl_getfd(&file).unwrap(), FdFlags::CLOEXEC);
        let failed =
            |name| rustix::io::Errno::from_io_error(&open_stored(&directory, Path::new(name)).unwrap_err());
        assert_eq!(failed("link"), Some(rustix::io::Errno::LOOP));
        assert_eq!(failed("none"), Some(rustix::io::Errno::NOENT));
    }

    #[test]
    fn a_file_system_without_such_an_open_has_no_file_to_show() {
        let Some(shared) = Mounted::fuse(Path::new("/proc/sys/kernel"), &["--forward-odirect=512"]) else {
            return;
        };
        assert!(open_stored(&opened(&shared.path("")), Path::new("ostype")).unwrap().is_none());
    }

    #[test]
    fn what_was_read_is_not_read_again_from_memory_once_it_is_forgotten() {
        let below = tempfile::tempdir().unwrap();
        let written = below.path().join("a");
        fs::write(&written, "one").unwrap();
        let Some(shared) = Mounted::fuse(below.path(), &["-o", "attr_timeout=3600"]) else { return };
        let file = fs::File::options().read(true).write(true).open(shared.path("a")).unwrap();
        let read = || {
            let mut bytes = [0; 3];
            read_at(&file, &mut bytes, 0).unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert_eq!(read(), "one");
        fs::write(&written, "two").unwrap();
        assert_eq!(read(), "one", "this machine remembers it");
        forget_cached(&opened(&shared.path("")), &file);
        assert_eq!(read(), "two");
    }
}
