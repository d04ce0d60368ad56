//! Calls `renameat2(2)` and `copy_file_range(2)`, which only Linux has, and determines the types of file
//! systems.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::os::network;
use crate::os::unix::unsupported;

/// Exchanges two names of one directory atomically.
///
/// The file is the first argument of the system call, and the temporary file the second. So a file watcher
/// sees the exchange as "the temporary file moved to the file".
pub(crate) fn exchange(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
    let flags = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(directory, file, directory, temporary, flags).map_err(unsupported)
}

/// Renames a file atomically, also to another directory. Fails if the new name is taken.
pub(crate) fn rename_new(directory: &Dir, from: &Path, target: &Dir, to: &Path) -> io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(directory, from, target, to, flags).map_err(unsupported)
}

/// Returns the name of a directory's file system, if it is a network file system.
pub(crate) fn network_file_system(directory: &Dir) -> io::Result<Option<&'static str>> {
    let kind = rustix::fs::fstatfs(directory)?.f_type;
    // The number has 32 bits, but the field is as wide as a machine word, and signed on most machines.
    Ok(kind.to_le_bytes().first_chunk().and_then(|low| network::named(u32::from_le_bytes(*low))))
}

/// Whether it is known that any two files in this directory have different
/// [`FileKey`](crate::os::identity::FileKey)s, and that a file keeps its key after a rename and a reboot.
pub(crate) fn identity_lasts(directory: &Dir) -> bool {
    let kind = rustix::fs::fstatfs(directory).map(|about| about.f_type.to_le_bytes());
    kind.is_ok_and(|kind| {
        kind.first_chunk().is_some_and(|low| network::identity_lasts(u32::from_le_bytes(*low)))
    })
}

/// Tells whether a directory is known to be on a file system that uses only this machine's kernel and disks.
pub(crate) fn is_local(directory: &Dir) -> bool {
    let kind = rustix::fs::fstatfs(directory).map(|about| about.f_type.to_le_bytes());
    kind.is_ok_and(|kind| kind.first_chunk().is_some_and(|low| network::is_local(u32::from_le_bytes(*low))))
}

/// Copies bytes within the kernel to the current position of `to`. Returns `None` if that is not possible
/// between these files, and 0 at the end of `from`.
pub(crate) fn copy_in_kernel(
    from: &File,
    offset: u64,
    to: &File,
    length: usize,
) -> io::Result<Option<usize>> {
    let mut offset = offset;
    let copied =
        rustix::io::retry_on_intr(|| rustix::fs::copy_file_range(from, Some(&mut offset), to, None, length));
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at what the kernel says of its mounts")]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn memory_is_local_and_what_the_kernel_generates_is_not_known_to_be() {
        let open = |path: &str| Dir::open_ambient_dir(path, ambient_authority());
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        for (kind, path, expected) in [("tmpfs", "/dev/shm", true), ("proc", "/proc", false)] {
            let mut mounted = mounts.lines().map(|line| line.split(' ').skip(1));
            let Ok(directory) = open(path) else { continue };
            if mounted.any(|mut mount| mount.next() == Some(path) && mount.next() == Some(kind)) {
                assert_eq!(is_local(&directory), expected, "{path}");
                assert_eq!(network_file_system(&directory).unwrap(), None, "{path}");
            }
        }
    }
}
