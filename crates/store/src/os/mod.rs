//! What differs between platforms, and nothing else: each function has one meaning everywhere, and where a platform
//! cannot do it, it says so by [`io::ErrorKind::Unsupported`] or `None` and the caller has another way.
//!
//! Linux is what is tested. On Windows std's locks are mandatory, so that another process cannot even read a file
//! that is being edited.

pub mod fd_limit;
pub mod identity;
pub mod inode_flags;
pub mod signals;
pub(crate) mod vanishing;

use std::collections::BTreeMap;

pub(crate) use system::*;

/// Extended attributes: values by name.
pub(crate) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// What stands under a name, which itself is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_link: bool,
    /// Device and inode, where a name is enough to tell them.
    pub(crate) key: Option<(u64, u64)>,
    /// How many names it has, as far as can be told.
    pub(crate) links: u64,
}

/// Whether `error` says that the system, or the file system, does not know how; not that it will not.
pub(crate) fn is_unsupported(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Unsupported
}

#[cfg(unix)]
mod system {
    use std::ffi::{OsStr, OsString};
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    use std::path::{Path, PathBuf};

    use cap_std::fs::{Dir, FileType, FileTypeExt as _, OpenOptions, OpenOptionsExt as _};
    use rustix::fs::{Access, AtFlags, Mode, OFlags};
    use rustix::io::Errno;

    #[cfg(target_os = "linux")]
    use super::Attributes;
    use super::Seen;
    use crate::error::SpecialFile;
    use crate::os::identity::Identity;

    /// Whether a lock keeps all other handles from reading and writing, those of this process included.
    pub(crate) const LOCKS_ARE_MANDATORY: bool = false;

    /// Whether there were too many symbolic links, or one where none may be.
    pub(crate) fn is_link_loop(error: &io::Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::LOOP)
    }

    /// Whether something cannot be removed because somebody has it open.
    pub(crate) fn is_held_open(_: &io::Error) -> bool {
        false
    }

    /// Fills `buffer` from `offset` on as far as one call of the system does.
    pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    /// Writes all bytes from `offset` on.
    pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    /// How many names the file has.
    pub(crate) fn links_of(metadata: &Metadata) -> u64 {
        metadata.nlink()
    }

    /// The file's extended attributes by name, as far as this process may see them; none where the file system has
    /// none. On Linux an access control list is one of them (xattr(7)).
    #[cfg(target_os = "linux")]
    pub(crate) fn attributes_of(file: &File) -> io::Result<Attributes> {
        let names = match whole(|buffer| rustix::fs::flistxattr(file, buffer)) {
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Attributes::new()),
            names => names?,
        };
        let mut attributes = Attributes::new();
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            match whole(|buffer| rustix::fs::fgetxattr(file, name, buffer)) {
                // Gone since it was listed.
                Err(Errno::NODATA) => {}
                value => {
                    attributes.insert(name.to_owned(), value?);
                }
            }
        }
        Ok(attributes)
    }

    /// Reads with a buffer that is mostly enough, else with one of the longest that there can be (xattr(7)).
    #[cfg(target_os = "linux")]
    fn whole(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
        let mut bytes = vec![0; 256];
        let length = match read(&mut bytes) {
            Err(Errno::RANGE) => {
                bytes.resize(64 * 1024, 0);
                read(&mut bytes)?
            }
            length => length?,
        };
        bytes.truncate(length);
        Ok(bytes)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn set_attribute(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty())?)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn remove_attribute(file: &File, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fremovexattr(file, name)?)
    }

    /// Whether the file is where a file system is mounted: a bind mount, as containers have them for single files.
    /// No other file can get its name.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_mount_point(file: &File) -> bool {
        use rustix::fs::{StatxAttributes, StatxFlags};
        let about = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
        about.is_ok_and(|about| {
            (about.stx_attributes & about.stx_attributes_mask).contains(StatxAttributes::MOUNT_ROOT)
        })
    }

    /// Whether any program has the file open for writing, or mapped so. `file` itself must be open for reading only, and
    /// must be this user's; else, and where the file system has no leases, nobody knows.
    ///
    /// A lease for reading is refused while there is a writer (fcntl(2)). It is given back at once.
    #[cfg(target_os = "linux")]
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
        // Who opens the file for writing while there is the lease makes the kernel send a signal to its holder. The
        // usual one, SIGIO, would end this process; this one is ignored unless asked for.
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

    /// Has the file system say anew what it may have told from a cache of the kernel's (statx(2)): size, times, links.
    #[cfg(target_os = "linux")]
    pub(crate) fn ask_anew(file: &File) {
        use rustix::fs::StatxFlags;
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        // Where it cannot, the cache is all that there is.
        let _ = rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS);
    }

    /// An empty file in memory, without a name.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory_file() -> io::Result<File> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        Ok(File::from(rustix::fs::memfd_create(c"mcp-text-editor", flags)?))
    }

    /// Makes sure that the file can grow from one size to another, where the file system knows how; its size stays.
    #[cfg(target_os = "linux")]
    pub(crate) fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
        let Some(growth) = to.checked_sub(from).filter(|growth| *growth > 0) else { return Ok(()) };
        let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
        match rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, from, growth)) {
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
            _ => Ok(()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) use super::without_linux::*;

    #[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
    pub(crate) fn identity_of(_: &File, metadata: &Metadata) -> io::Result<Identity> {
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    pub(crate) fn identity_at(directory: &Dir, name: &Path) -> io::Result<Identity> {
        use cap_std::fs::MetadataExt as _;
        let metadata = directory.symlink_metadata(name)?;
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Device and inode of what `metadata` describes; `None` where metadata without an open file has none.
    #[expect(clippy::unnecessary_wraps, reason = "other platforms cannot tell")]
    pub(crate) fn key_of(metadata: &Metadata) -> Option<(u64, u64)> {
        Some((metadata.dev(), metadata.ino()))
    }

    /// Device and inode of an open directory.
    pub(crate) fn key_of_directory(directory: &Dir) -> io::Result<(u64, u64)> {
        use cap_std::fs::MetadataExt as _;
        let metadata = directory.dir_metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Device and inode of what a name stands for; a link stands for itself.
    pub(crate) fn key_at(directory: &Dir, name: &OsStr) -> Option<(u64, u64)> {
        look(directory, Path::new(""), Path::new(name))?.key
    }

    /// Looks at a path from an open directory on, in one system call; links in the middle are followed. Nothing is asked
    /// of `_path`, the directory's.
    #[cfg_attr(
        all(target_os = "linux", target_pointer_width = "64"),
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

    /// Device and inode of the directory above an open one, wherever that is; it is looked at, not opened.
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

    /// What a file is that is neither regular, a directory nor a link.
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

    /// Keeps a terminal that is opened from becoming this process's own.
    pub(crate) fn no_terminal(options: &mut OpenOptions) {
        options.custom_flags(i32::try_from(OFlags::NOCTTY.bits()).unwrap_or(0));
    }

    /// Makes a directory and those above it, for this user alone; one that is there stays as it is.
    pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Takes a file, named by its path, from everybody but its owner.
    pub(crate) fn make_private(path: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
    }

    /// The mode that a file is created with, before the umask takes from it.
    pub(crate) fn creation_mode(options: &mut OpenOptions, mode: u32) {
        options.mode(mode);
    }

    /// Whether this process may write to the file, asked without opening it: an open for writing, even if nothing is
    /// written, is what others' leases break on.
    pub(crate) fn may_write(directory: &Dir, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)?)
    }

    /// Whether an open of a file for reading cannot carry an exclusive lock (NFS, fcntl(2) behind flock(2)).
    pub(crate) fn lock_needs_writing(error: &io::Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::BADF)
    }

    /// Whether a lock failed because the file system has none.
    pub(crate) fn has_no_locks(error: &io::Error) -> bool {
        super::is_unsupported(error) || Errno::from_io_error(error) == Some(Errno::NOLCK)
    }

    /// Whether files can be made in a directory, as far as its mode and the file system say.
    pub(crate) fn check_writable(directory: &Dir) -> io::Result<()> {
        may_write(directory, Path::new("."))
    }

    /// A path as bytes that mean the same in another process of this system; [`path_of`] reads them.
    #[expect(clippy::unnecessary_wraps, reason = "other platforms have paths without bytes")]
    pub(crate) fn bytes_of(path: &Path) -> Option<&[u8]> {
        use std::os::unix::ffi::OsStrExt as _;
        Some(path.as_os_str().as_bytes())
    }

    /// The path that [`bytes_of`] made bytes of.
    #[expect(clippy::unnecessary_wraps, reason = "on other platforms not all bytes are a path")]
    pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt as _;
        Some(OsString::from_vec(bytes).into())
    }

    /// Opens a directory beneath `root` in one step, by a way that has no symbolic link on it. `None` where there is
    /// one, where the directory is missing, and where the system has no openat2(2) or a sandbox forbids it.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_directory_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
        use rustix::fs::ResolveFlags;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let directory = rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve).ok()?;
        Some(Dir::from_std_file(File::from(directory)))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_directory_beneath(_: &Dir, _: &Path) -> Option<Dir> {
        None
    }

    /// Lets two names of one directory change places, in one step (renameat2(2); `renameatx_np` on macOS).
    ///
    /// The file goes first and the temporary second, which a watcher sees as "the temporary moved to the file".
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(crate) fn exchange(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(directory, file, directory, temporary, flags).map_err(unsupported)
    }

    /// Renames a file unless there is anything of the new name, in one step.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(crate) fn rename_new(directory: &Dir, from: &Path, to: &Path) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(directory, from, directory, to, flags).map_err(unsupported)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(crate) fn exchange(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(crate) fn rename_new(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A file system without the operation answers EINVAL, a kernel ENOSYS, a sandbox EPERM. If EPERM was meant, the
    /// other way that the caller has meets it, too.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn unsupported(error: Errno) -> io::Error {
        // A list, not a pattern: on some platforms two of these are one number.
        let meanings = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::PERM];
        let kind = if meanings.contains(&error) { Some(io::ErrorKind::Unsupported) } else { None };
        kind.map_or_else(|| error.into(), |kind| io::Error::new(kind, io::Error::from(error)))
    }

    /// Copies bytes within the kernel to where `to` stands; `None` where that is not possible between these files,
    /// 0 at the end of `from`.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn copy_in_kernel(
        from: &File,
        offset: u64,
        to: &File,
        length: usize,
    ) -> io::Result<Option<usize>> {
        let mut offset = offset;
        let copied = rustix::io::retry_on_intr(|| {
            rustix::fs::copy_file_range(from, Some(&mut offset), to, None, length)
        });
        match copied {
            Ok(copied) => Ok(Some(copied)),
            Err(
                Errno::XDEV
                | Errno::INVAL
                | Errno::NOSYS
                | Errno::OPNOTSUPP
                | Errno::PERM
                | Errno::BADF
                | Errno::TXTBSY,
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    #[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
    pub(crate) fn copy_in_kernel(_: &File, _: u64, _: &File, _: usize) -> io::Result<Option<usize>> {
        Ok(None)
    }

    /// A directory opened to be read; the handle at hand may be of `O_PATH`, which flock(2) and fsync(2) refuse.
    pub(crate) fn open_to_read(directory: &Dir) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(directory, ".", flags, Mode::empty())?))
    }

    /// Waits until the names in a directory are on disk. A directory that may not be read, or a file system that does
    /// not sync directories, is passed over: neither has another way.
    pub(crate) fn sync_directory(directory: &Dir) -> io::Result<()> {
        let readable = match open_to_read(directory) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            opened => opened?,
        };
        match readable.sync_all() {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Ok(()),
            Err(error) if super::is_unsupported(&error) => Ok(()),
            synced => synced,
        }
    }
}

/// What is done on Linux alone.
#[cfg(not(target_os = "linux"))]
mod without_linux {
    use std::fs::File;
    use std::io;

    use super::Attributes;

    #[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
    pub(crate) fn attributes_of(_: &File) -> io::Result<Attributes> {
        Ok(Attributes::new())
    }

    pub(crate) fn set_attribute(_: &File, _: &[u8], _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn remove_attribute(_: &File, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn is_mount_point(_: &File) -> bool {
        false
    }

    pub(crate) fn is_open_for_writing(_: &File) -> Option<bool> {
        None
    }

    pub(crate) fn ask_anew(_: &File) {}

    pub(crate) fn memory_file() -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
    pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
mod system {
    use std::ffi::OsStr;
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::UNIX_EPOCH;

    use cap_fs_ext::{
        FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _, OpenOptionsMaybeDirExt as _,
    };
    use cap_std::fs::{Dir, FileType, OpenOptions};

    use super::Seen;
    pub(crate) use super::without_linux::*;
    use crate::error::SpecialFile;
    use crate::os::identity::Identity;

    pub(crate) const LOCKS_ARE_MANDATORY: bool = true;

    pub(crate) fn is_link_loop(_: &io::Error) -> bool {
        false
    }

    /// `ERROR_SHARING_VIOLATION`, for which std has no word. Handles of directories that are open here cause it, too.
    pub(crate) fn is_held_open(error: &io::Error) -> bool {
        error.raw_os_error() == Some(32)
    }

    #[cfg(windows)]
    pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::os::windows::fs::FileExt as _;
        file.seek_read(buffer, offset)
    }

    #[cfg(windows)]
    pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        use std::os::windows::fs::FileExt as _;
        while !bytes.is_empty() {
            let written = file.seek_write(bytes, offset)?;
            bytes = bytes.get(written..).unwrap_or_default();
            offset += written as u64;
        }
        Ok(())
    }

    // std does not tell; a file of several names is then replaced under the one that was given.
    pub(crate) fn links_of(_: &Metadata) -> u64 {
        1
    }

    pub(crate) fn identity_of(file: &File, metadata: &Metadata) -> io::Result<Identity> {
        // Only the metadata of an open file has the numbers.
        let numbers = cap_std::fs::File::from_std(file.try_clone()?).metadata()?;
        let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mtime = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
        Ok(Identity {
            device: numbers.dev(),
            inode: numbers.ino(),
            size: metadata.len(),
            mtime,
            ctime: mtime,
        })
    }

    pub(crate) fn identity_at(directory: &Dir, name: &Path) -> io::Result<Identity> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).maybe_dir(true);
        Identity::of(&directory.open_with(name, &options)?.into_std())
    }

    pub(crate) fn key_of(_: &Metadata) -> Option<(u64, u64)> {
        None
    }

    pub(crate) fn key_of_directory(directory: &Dir) -> io::Result<(u64, u64)> {
        let metadata = directory.dir_metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    pub(crate) fn key_at(_: &Dir, _: &OsStr) -> Option<(u64, u64)> {
        None
    }

    pub(crate) fn look(_: &Dir, path: &Path, relative: &Path) -> Option<Seen> {
        let is_link = path.join(relative).symlink_metadata().ok()?.is_symlink();
        Some(Seen { is_link, key: None, links: 1 })
    }

    pub(crate) fn key_of_parent(_: &Dir) -> Option<(u64, u64)> {
        None
    }

    pub(crate) fn special(_: FileType) -> SpecialFile {
        SpecialFile::Other
    }

    pub(crate) fn no_terminal(_: &mut OpenOptions) {}

    // Directories below a user's own are that user's alone by inheritance.
    pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).create(path)
    }

    pub(crate) fn creation_mode(_: &mut OpenOptions, _: u32) {}

    #[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
    pub(crate) fn make_private(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn may_write(directory: &Dir, name: &Path) -> io::Result<()> {
        let readonly = directory.symlink_metadata(name)?.permissions().readonly();
        if readonly { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }

    pub(crate) fn lock_needs_writing(_: &io::Error) -> bool {
        false
    }

    pub(crate) fn has_no_locks(error: &io::Error) -> bool {
        super::is_unsupported(error)
    }

    // Told when something is written.
    #[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
    pub(crate) fn check_writable(_: &Dir) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn bytes_of(path: &Path) -> Option<&[u8]> {
        path.to_str().map(str::as_bytes)
    }

    pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
        String::from_utf8(bytes).ok().map(PathBuf::from)
    }

    pub(crate) fn open_directory_beneath(_: &Dir, _: &Path) -> Option<Dir> {
        None
    }

    pub(crate) fn exchange(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn rename_new(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
    pub(crate) fn copy_in_kernel(_: &File, _: u64, _: &File, _: usize) -> io::Result<Option<usize>> {
        Ok(None)
    }

    pub(crate) fn open_to_read(_: &Dir) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    // Windows has no such operation; NTFS journals its names.
    #[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
    pub(crate) fn sync_directory(_: &Dir) -> io::Result<()> {
        Ok(())
    }
}
