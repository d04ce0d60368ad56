//! Implements the operations that every Unix has. Operations that only some systems have are in the files of
//! those systems.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::num::NonZeroI64;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType, FileTypeExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::os::identity::Identity;
use crate::os::seen::{Looked, Seen, SpecialFile};
use crate::os::sync::{is_unsupported, sync_all};

/// Tells whether an error says that a path has too many symbolic links, or a link where links are forbidden.
pub(crate) fn is_link_loop(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Tells whether an error says that a file cannot be opened, renamed or removed because another program has
/// it open.
pub(crate) fn is_held_open(_: &io::Error) -> bool {
    false
}

/// Tells whether an error says that the system, or a file system, does not let another file take the name of
/// an open file. Need not recognise the errors that [`is_unsupported`] recognises.
pub(crate) fn keeps_its_name(_: &io::Error) -> bool {
    false
}

/// Returns the real error of a rename over an open file. If the system says "access denied" because another
/// program holds the file open, the error returned says that it is held.
pub(crate) fn why_not_renamed(_: &File, error: io::Error) -> io::Error {
    error
}

/// Fails, with an error for which [`is_held_open`] is true, if another program has the file open in a way
/// that prevents renaming and removing it.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn check_may_lose_a_name(_: &File) -> io::Result<()> {
    Ok(())
}

/// Keeps every program from opening a file for writing, as long as the returned handle exists. Returns `None`
/// if the system cannot do this. An error for which [`is_held_open`] is true says that a program has the file
/// open for writing already.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn refuse_writers(_: &File) -> io::Result<Option<File>> {
    Ok(None)
}

/// Takes a file that was opened without following a link. Returns a handle that reads the content that
/// programs normally see, however it is stored; on Unix, `file` itself.
#[cfg(not(target_vendor = "apple"))]
#[expect(clippy::unnecessary_wraps, reason = "other platforms must open it again")]
pub(crate) fn as_programs_see(file: File, _write: bool) -> io::Result<File> {
    Ok(file)
}

/// Reads from `offset` into `buffer` by one system call, which is repeated if a signal interrupts it. Returns
/// the number of bytes read, which may be less than the buffer's length.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *buffer, offset))?)
}

/// Writes all bytes from `offset` on.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Returns the number of names (hard links) of an open file, whose metadata was just read.
pub(crate) fn links_of(_: &File, metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// Returns the present identity of an open file.
pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    identity_with(file, &file.metadata()?)
}

/// Returns the identity of an open file, whose metadata was just read.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn identity_with(_: &File, metadata: &Metadata) -> io::Result<Identity> {
    Ok(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        born: born(metadata.created()),
    })
}

/// Returns the time of creation; `None` if the file system does not store it, or returns 0.
fn born(created: io::Result<SystemTime>) -> Option<NonZeroI64> {
    let since = created.ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok().and_then(NonZeroI64::new)
}

/// Returns the present identity of the file with this name in `directory`; a symbolic link is not followed.
pub(crate) fn identity_at(directory: &Dir, name: &Path) -> io::Result<Identity> {
    use cap_std::fs::MetadataExt as _;
    let metadata = directory.symlink_metadata(name)?;
    Ok(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        born: born(metadata.created().map(cap_std::time::SystemTime::into_std)),
    })
}

/// Returns device and inode of the file that `metadata` describes; `None` if the platform's metadata does not
/// have them.
#[expect(clippy::unnecessary_wraps, reason = "other platforms cannot tell")]
pub(crate) fn key_of(metadata: &Metadata) -> Option<(u64, u64)> {
    Some((metadata.dev(), metadata.ino()))
}

/// Looks up the file at an absolute path. Does not follow a link at its end. Returns `None` if nothing is
/// there, or the lookup fails.
pub(crate) fn look_along(path: &Path) -> Option<Looked> {
    let metadata = path.symlink_metadata().ok()?;
    Some(Looked {
        is_directory: metadata.is_dir(),
        is_link: metadata.is_symlink(),
        key: key_of(&metadata),
        name: None,
    })
}

/// Returns device and inode of the file to which a path leads; follows links.
pub(crate) fn key_of_path(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().as_ref().and_then(key_of)
}

/// Opens a directory by its name in its parent. A link is refused.
pub(crate) fn open_directory(parent: &Dir, name: &Path) -> io::Result<Dir> {
    parent.open_dir_nofollow(name)
}

/// Opens a root, which is a directory that the server serves. Roots are kept open as long as the process
/// lives.
pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

/// Returns a handle of an open root, for the duration of an edit in the root. On systems that rename by path,
/// the handle also prevents the root from being moved.
#[expect(clippy::unnecessary_wraps, reason = "other platforms must open it again")]
pub(crate) fn hold(directory: &Arc<Dir>) -> io::Result<Arc<Dir>> {
    Ok(Arc::clone(directory))
}

/// Returns device and inode of an open directory.
pub(crate) fn key_of_directory(directory: &Dir) -> io::Result<(u64, u64)> {
    use cap_std::fs::MetadataExt as _;
    let metadata = directory.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Returns `None`: only macOS can return a file's name as its directory lists it without listing the
/// directory.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn stored_name(_: &Dir, _: &OsStr) -> Option<OsString> {
    None
}

/// Returns device and inode of the file with this name; `None` if the lookup fails. A link is not followed.
pub(crate) fn key_at(directory: &Dir, name: &OsStr) -> Option<(u64, u64)> {
    look(directory, Path::new(""), Path::new(name))?.key
}

/// Looks up a path relative to an open directory, in one system call; `None` if the lookup fails. Follows
/// links in the middle of the path, but not at its end. `_path`, the path of the directory, is not used here.
#[cfg_attr(
    any(target_os = "macos", all(target_os = "linux", target_pointer_width = "64")),
    expect(clippy::useless_conversion, reason = "these numbers have other types elsewhere")
)]
pub(crate) fn look(directory: &Dir, _path: &Path, relative: &Path) -> Option<Seen> {
    let seen = rustix::fs::statat(directory, relative, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Seen {
        is_link: rustix::fs::FileType::from_raw_mode(seen.st_mode).is_symlink(),
        key: u64::try_from(seen.st_dev).ok().map(|device| (device, u64::from(seen.st_ino))),
        links: u64::from(seen.st_nlink),
    })
}

/// Returns device and inode of the parent of an open directory, without opening the parent.
#[cfg_attr(
    any(all(target_os = "linux", target_pointer_width = "64"), target_vendor = "apple"),
    expect(clippy::useless_conversion, reason = "these numbers have other types elsewhere")
)]
pub(crate) fn key_of_parent(directory: &Dir) -> Option<(u64, u64)> {
    let above = rustix::fs::statat(directory, "..", AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((u64::try_from(above.st_dev).ok()?, u64::from(above.st_ino)))
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// Returns the kind of a file that is neither a regular file, a directory nor a link.
pub(crate) fn special(kind: FileType) -> SpecialFile {
    if kind.is_fifo() {
        SpecialFile::Fifo
    } else if kind.is_socket() {
        SpecialFile::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        SpecialFile::Device
    } else {
        SpecialFile::Other
    }
}

/// Sets the flag that prevents a terminal, if one is opened, from becoming the controlling terminal of this
/// process.
pub(crate) fn no_terminal(options: &mut OpenOptions) {
    options.custom_flags(i32::try_from(OFlags::NOCTTY.bits()).unwrap_or(0));
}

/// Creates a directory and the missing directories above it, for this user only. Existing directories do not
/// change.
pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Sets the mode of a file, named by its path, to 0600.
#[cfg_attr(not(feature = "history"), expect(dead_code, reason = "only the database asks for it"))]
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// Sets the mode with which a file is created, before the umask is applied.
pub(crate) fn creation_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Checks that this process may write to the file, without opening it: an open for writing breaks other
/// programs' leases even if nothing is written.
pub(crate) fn may_write(directory: &Dir, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Takes the lock on a file (flock(2)), unless it is held through another handle. The lock is held until the
/// handle and all its clones are closed. The lock prevents nobody from reading or writing.
#[expect(clippy::disallowed_methods, reason = "this is the function that is allowed")]
pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Tells whether an error says that a handle for reading cannot get an exclusive lock (NFS, where the kernel
/// implements flock(2) by fcntl(2)).
pub(crate) fn lock_needs_writing(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BADF)
}

/// Tells whether a lock failed because the file system has no locks.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    is_unsupported(error) || Errno::from_io_error(error) == Some(Errno::NOLCK)
}

/// Checks that files can be created in a directory, according to its mode and the file system.
pub(crate) fn check_writable(directory: &Dir) -> io::Result<()> {
    may_write(directory, Path::new("."))
}

/// Returns a path as bytes that another process of this system can read with [`path_of`].
#[expect(clippy::unnecessary_wraps, reason = "other platforms have paths without bytes")]
pub(crate) fn bytes_of(path: &Path) -> Option<&[u8]> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(path.as_os_str().as_bytes())
}

/// Returns the path from the bytes that [`bytes_of`] returned.
#[expect(clippy::unnecessary_wraps, reason = "on other platforms not all bytes are a path")]
pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(OsString::from_vec(bytes).into())
}

/// Converts an error. The kind becomes `Unsupported` for the errors that say that an operation is missing: a
/// file system returns EINVAL, a kernel ENOSYS, a sandbox EPERM. If EPERM means a missing permission instead,
/// the caller's fallback fails with EPERM, too.
pub(super) fn unsupported(error: Errno) -> io::Error {
    // This is a list and not a pattern, since on some platforms two of these errors have the same number.
    let meanings = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::PERM];
    let kind = if meanings.contains(&error) { Some(io::ErrorKind::Unsupported) } else { None };
    kind.map_or_else(|| error.into(), |kind| io::Error::new(kind, io::Error::from(error)))
}

/// Opens a directory again for reading. Its handle may have been opened with `O_PATH`, which flock(2) and
/// fsync(2) refuse.
pub(crate) fn open_to_read(directory: &Dir) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(directory, ".", flags, Mode::empty())?))
}

/// Waits until a renamed file is on disk, with its new name if the file system syncs the name with the file.
pub(crate) fn sync_moved(file: &File) -> io::Result<()> {
    sync_all(file)
}

/// Waits until the names in a directory are on disk. Does nothing if this process may not read the directory,
/// or if the file system does not sync directories, since there is no other method.
pub(crate) fn sync_directory(directory: &Dir) -> io::Result<()> {
    let readable = match open_to_read(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?,
    };
    match sync_all(&readable) {
        Err(error) if syncs_no_directories(&error) => Ok(()),
        synced => synced,
    }
}

/// Tells whether an error of a sync says that the file system does not sync directories.
fn syncs_no_directories(error: &io::Error) -> bool {
    is_unsupported(error) || Errno::from_io_error(error) == Some(Errno::INVAL)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;

    use super::*;
    use crate::tests::world::{as_user, opened};

    #[test]
    fn errors_are_known_by_their_numbers() {
        for (number, is_loop, needs_writing, has_none, syncs_none) in [
            (Errno::LOOP, true, false, false, false),
            (Errno::BADF, false, true, false, false),
            (Errno::NOLCK, false, false, true, false),
            (Errno::OPNOTSUPP, false, false, true, true),
            (Errno::INVAL, false, false, false, true),
            (Errno::NOENT, false, false, false, false),
            (Errno::IO, false, false, false, false),
        ] {
            let error = io::Error::from(number);
            assert_eq!(is_link_loop(&error), is_loop, "{number}");
            assert_eq!(lock_needs_writing(&error), needs_writing, "{number}");
            assert_eq!(has_no_locks(&error), has_none, "{number}");
            assert_eq!(syncs_no_directories(&error), syncs_none, "{number}");
        }
    }

    #[test]
    fn special_files_have_their_kind() {
        let home = tempfile::tempdir().unwrap();
        let directory = opened(home.path());
        assert!(
            std::process::Command::new("mkfifo").arg(home.path().join("fifo")).status().unwrap().success()
        );
        std::os::unix::net::UnixListener::bind(home.path().join("socket")).unwrap();
        let kind = |directory: &Dir, name| special(directory.symlink_metadata(name).unwrap().file_type());
        assert_eq!(kind(&directory, "fifo"), SpecialFile::Fifo);
        assert_eq!(kind(&directory, "socket"), SpecialFile::Socket);
        assert_eq!(kind(&opened(Path::new("/dev")), "null"), SpecialFile::Device);
        assert_eq!(special(FileType::file()), SpecialFile::Other);
        let mut devices =
            opened(Path::new("/dev")).entries().unwrap().map(|entry| entry.unwrap().file_type());
        match devices.find_map(|kind| kind.ok().filter(cap_std::fs::FileTypeExt::is_block_device)) {
            Some(disk) => assert_eq!(special(disk), SpecialFile::Device),
            None => eprintln!("skipped: there is no disk in /dev"),
        }
    }

    #[test]
    fn what_is_missing_is_known_by_any_of_its_numbers() {
        for number in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::PERM] {
            assert_eq!(unsupported(number).kind(), io::ErrorKind::Unsupported, "{number}");
        }
        assert_eq!(unsupported(Errno::NOENT).kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_a_directory_that_cannot_be_synced_at_all_need_not_be() {
        let home = tempfile::tempdir().unwrap();
        let directory = opened(home.path());
        sync_directory(&directory).unwrap();
        let inherited = rustix::io::fcntl_getfd(open_to_read(&directory).unwrap()).unwrap();
        assert_eq!(inherited, rustix::io::FdFlags::CLOEXEC);
        // The kernel generates the names in `/proc`, so fsync(2) returns EINVAL.
        if cfg!(target_os = "linux") {
            sync_directory(&opened(Path::new("/proc"))).unwrap();
        }
        fs::write(home.path().join("file"), "").unwrap();
        let file = Dir::from_std_file(File::open(home.path().join("file")).unwrap());
        assert_eq!(sync_directory(&file).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_directory_that_may_not_be_read_need_not_be_synced() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let directory = opened(home.path());
        let synced = as_user(54_321, || (open_to_read(&directory).is_err(), sync_directory(&directory)));
        if let Some((is_closed, synced)) = synced {
            assert!(is_closed);
            synced.unwrap();
        }
    }
}
