//! Implements the operations that only Linux has: leases, `statx(2)`, files in memory, `sync_file_range(2)`,
//! `fallocate(2)`, `openat2(2)`.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::os::identity::Identity;
use crate::os::unix::identity_of;

// On Linux, an access control list is an extended attribute (xattr(7)).
pub(crate) use crate::os::xattr::{attributes_of, remove_attribute, set_attribute};

/// The attribute that holds the access control list (acl(5)). A new file may inherit a list from its
/// directory.
pub(crate) const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Tells whether a file system is mounted at the file. If so, no other file can get the file's name.
/// Containers use such bind mounts for single files.
pub(crate) fn is_mount_point(file: &File) -> bool {
    use rustix::fs::{StatxAttributes, StatxFlags};
    let status = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
    status.is_ok_and(|status| {
        (status.stx_attributes & status.stx_attributes_mask).contains(StatxAttributes::MOUNT_ROOT)
    })
}

/// Tells whether any program has the file open or mapped for writing. Returns `None` if this cannot be
/// determined: `file` itself is open for writing, the file belongs to another user, or its file system has no
/// leases.
///
/// The kernel refuses a read lease while a program has the file open for writing (fcntl(2)). If the kernel
/// grants the lease, this function releases it at once.
#[expect(unsafe_code, reason = "no crate at hand has leases")]
pub(crate) fn is_open_for_writing(file: &File) -> Option<bool> {
    use std::os::fd::AsRawFd as _;

    /// `fcntl.h`; libc has it for some targets only.
    const F_SETSIG: libc::c_int = 10;

    let is_read_only =
        rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDONLY);
    if !is_read_only {
        return None;
    }
    let descriptor = file.as_raw_fd();
    let fcntl = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: the descriptor is open as long as `file` is borrowed, and these commands take a number.
        unsafe { libc::fcntl(descriptor, command, argument) }
    };
    // If a program opens the file for writing while the lease is held, the kernel sends a signal to this
    // process. The default, SIGIO, would end the process; SIGURG is ignored by default.
    if fcntl(F_SETSIG, libc::SIGURG) == -1 {
        return None;
    }
    if fcntl(libc::F_SETLEASE, libc::F_RDLCK) == -1 {
        let is_refused = io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        return is_refused.then_some(true);
    }
    fcntl(libc::F_SETLEASE, libc::F_UNLCK);
    Some(false)
}

/// Makes the kernel fetch the size, times and link count from the file system instead of from the kernel's
/// cache (statx(2)).
pub(crate) fn ask_anew(file: &File) {
    use rustix::fs::StatxFlags;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    // On failure, the cached values are used.
    let _ = rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS);
}

/// Creates an empty file in memory, without a name.
pub(crate) fn memory_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(File::from(rustix::fs::memfd_create(c"mcp-text-editor", flags)?))
}

/// Begins to write bytes of the file to the disk (`sync_file_range(2)`), without waiting.
/// [`sync_all`](crate::os::sync_all) then has less to wait for.
#[expect(unsafe_code, reason = "no crate at hand has sync_file_range(2)")]
pub(crate) fn begin_sync(file: &File, from: u64, length: u64) {
    use std::os::fd::AsRawFd as _;
    let (Ok(from), Ok(length)) = (i64::try_from(from), i64::try_from(length)) else { return };
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the other arguments are numbers. An
    // error is reported again when the file is synced.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Reserves disk space for the file to grow from one size to another, if the file system supports it. The
/// file's size stays the same.
pub(crate) fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    let Some(growth) = to.checked_sub(from).filter(|growth| *growth > 0) else { return Ok(()) };
    let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
    match rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, from, growth)) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Opens a directory beneath `root` in one system call, without following symbolic links. Returns `None` if
/// the open fails, for example because a link is in the path, the directory is missing, the kernel has no
/// openat2(2), or a sandbox forbids that call.
pub(crate) fn open_directory_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
    use rustix::fs::ResolveFlags;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let directory = rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve).ok()?;
    Some(Dir::from_std_file(File::from(directory)))
}

/// Returns the identity of a file beneath `root` if the kernel can look it up without waiting: each name in
/// the path is in the kernel's cache, and none is a mount point or, except the last, a symbolic link. A link
/// at the end is not followed. Returns `None` in any other case, and before Linux 5.12.
pub(crate) fn identity_at_once(root: &Dir, relative: &Path) -> Option<Identity> {
    use rustix::fs::ResolveFlags;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV
        | ResolveFlags::CACHED;
    let file = rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve).ok()?;
    identity_of(&File::from(file)).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::tests::mounted::Mounted;
    use crate::tests::world::{as_user, opened};

    #[test]
    fn a_file_with_another_mounted_over_it_is_a_mount_point() {
        let home = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| home.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        let look = || is_mount_point(&File::open(&file).unwrap());
        assert!(!look());
        let Some(_mounted) = Mounted::bind(&other, &file) else { return };
        assert!(look());
    }

    #[test]
    fn a_writer_is_seen_where_the_kernel_may_tell_and_no_lease_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(is_open_for_writing(&file), Some(false));
        let nonblock = OFlags::WRONLY | OFlags::NONBLOCK;
        let writer = rustix::fs::open(&path, nonblock, Mode::empty()).expect("nobody has a lease");
        assert_eq!(is_open_for_writing(&file), Some(true));
        drop(writer);
        assert_eq!(is_open_for_writing(&file), Some(false));
        let both = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(is_open_for_writing(&both), None, "the writer is this handle");
        let of_another = as_user(54_321, || is_open_for_writing(&file));
        assert_ne!(of_another, Some(Some(true)));
        assert_ne!(of_another, Some(Some(false)));
    }

    #[test]
    fn a_file_in_memory_is_empty_and_no_other_program_inherits_it() {
        let file = memory_file().unwrap();
        assert_eq!((file.metadata().unwrap().len(), fcntl_getfd(&file).unwrap()), (0, FdFlags::CLOEXEC));
    }

    #[test]
    fn room_is_reserved_without_a_change_of_the_size_and_only_its_lack_is_an_error() {
        let Some(ext4) = Mounted::disk("ext4", &[], 8) else { return };
        let file = File::create(ext4.path("file")).unwrap();
        let about = || file.metadata().map(|about| (about.len(), about.blocks() * 512)).unwrap();
        for (from, to) in [(0, 0), (100_000, 0), (100_000, 100_000)] {
            reserve(&file, from, to).unwrap();
            assert_eq!(about(), (0, 0));
        }
        reserve(&file, 0, 100_000).unwrap();
        assert!(about().0 == 0 && (100_000..150_000).contains(&about().1), "{:?}", about());
        assert_eq!(reserve(&file, 0, 1 << 30).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(reserve(&file, 0, 1 << 60).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // A handle that can only read reserves nothing. That is not an error.
        reserve(&File::open(ext4.path("file")).unwrap(), 0, 100).unwrap();
    }

    #[test]
    fn one_step_leads_beneath_a_directory_and_by_no_link() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("a/b")).unwrap();
        fs::write(home.path().join("a/b/file"), "").unwrap();
        symlink("a", home.path().join("link")).unwrap();
        symlink("file", home.path().join("a/b/link")).unwrap();
        let (top, a) = (opened(home.path()), opened(&home.path().join("a")));
        let directory = |root: &Dir, path| open_directory_beneath(root, Path::new(path));
        let found = directory(&top, "a/b").unwrap();
        assert_eq!(fcntl_getfd(&found).unwrap(), FdFlags::CLOEXEC);
        assert_eq!(
            crate::os::unix::key_of_directory(&found).ok(),
            crate::os::unix::key_of_path(&home.path().join("a/b"))
        );
        for path in ["link", "link/b", "a/b/file", "a/none", "..", "/"] {
            assert!(directory(&top, path).is_none(), "{path}");
        }
        assert!(directory(&a, "../a").is_none());
        let identity = |root: &Dir, path| identity_at_once(root, Path::new(path));
        let file = File::open(home.path().join("a/b/file")).unwrap();
        assert_eq!(identity(&top, "a/b/file"), Some(identity_of(&file).unwrap()));
        let link = crate::os::identity_at(&opened(&home.path().join("a/b")), Path::new("link"));
        assert_eq!(identity(&top, "a/b/link"), Some(link.unwrap()));
        for path in ["link/b/file", "a/b/none", "..", "/"] {
            assert!(identity(&top, path).is_none(), "{path}");
        }
        assert!(identity(&a, "../a/b/file").is_none());
        fs::create_dir(home.path().join("mounted")).unwrap();
        let Some(_mounted) = Mounted::bind(&home.path().join("a/b"), &home.path().join("mounted")) else {
            return;
        };
        assert!(directory(&top, "mounted").is_some() && identity(&top, "mounted/file").is_none());
    }
}
