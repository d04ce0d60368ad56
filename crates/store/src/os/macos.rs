//! Implements operations of macOS: renames (`renameatx_np(2)`), opening a path without following links, a
//! file's name as its directory lists it, the types of file systems, and files whose content is in a cloud.
//! [`crate::os::macos_metadata`] has the metadata of files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};
use std::sync::OnceLock;

use cap_std::fs::Dir;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::os::apple;
use crate::os::network;
use crate::os::privacy::Privacy;
use crate::os::unix::unsupported;

/// Exchanges two names of one directory atomically.
pub(crate) fn exchange(directory: &Dir, file: &Path, temporary: &Path) -> io::Result<()> {
    let flags = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(directory, file, directory, temporary, flags).map_err(unsupported)
}

/// Renames a file atomically, also to another directory. Fails if the new name is taken.
pub(crate) fn rename_new(directory: &Dir, from: &Path, target: &Dir, to: &Path) -> io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(directory, from, target, to, flags).map_err(unsupported)
}

/// The flags that open a directory, and fail if its path has any link: `O_NOFOLLOW_ANY`, since macOS 11.
const OVER_NO_LINK: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW_ANY);

/// Opens a directory beneath `root` in one system call, without following symbolic links. Returns `None` if
/// the open fails, for example because a link is in the path or the directory is missing; if the path has
/// `..`; or if the system is older than the flag.
pub(crate) fn open_directory_beneath(root: &Dir, relative: &Path) -> Option<Dir> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) || !refuses_links() {
        return None;
    }
    let directory = rustix::fs::openat(root, relative, OVER_NO_LINK, Mode::empty()).ok()?;
    Some(Dir::from_std_file(File::from(directory)))
}

/// Tells whether the system knows `O_NOFOLLOW_ANY`. An older system ignores the flag and would follow every
/// link. The test opens `/etc`, which is a link on every macOS.
fn refuses_links() -> bool {
    static REFUSES: OnceLock<bool> = OnceLock::new();
    *REFUSES.get_or_init(|| {
        let opened = rustix::fs::openat(CWD, "/etc/.", OVER_NO_LINK, Mode::empty());
        opened.is_err_and(|error| error == Errno::LOOP)
    })
}

/// Returns the name of a file or directory as its directory lists it, without listing the directory. Returns
/// `None` if only a listing shows the name, or if the file is missing. The file may be unreadable, or a
/// symbolic link. A file with several names needs a listing, because `F_GETPATH` may return another of its
/// names.
pub(crate) fn stored_name(directory: &Dir, name: &OsStr) -> Option<OsString> {
    let flags = OFlags::from_bits_retain(libc::O_EVTONLY.cast_unsigned());
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, Path::new(name), flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    if !metadata.is_dir() && metadata.nlink() > 1 {
        return None;
    }
    let path = rustix::fs::getpath(&file).ok()?;
    Path::new(OsStr::from_bytes(path.to_bytes())).file_name().map(OsStr::to_owned)
}

/// Returns the name of a directory's file system, if it is a network file system.
pub(crate) fn network_file_system(directory: &Dir) -> io::Result<Option<&'static str>> {
    let about = rustix::fs::fstatfs(directory)?;
    let name = about.f_fstypename.iter().flat_map(|byte| byte.to_ne_bytes()).take_while(|byte| *byte != 0);
    Ok(network::named_by(&name.collect::<Vec<u8>>()))
}

/// Whether files in this directory keep their inode numbers: true on APFS, HFS+, NFS and SMB, but not on FAT
/// or FUSE.
pub(crate) fn identity_lasts(directory: &Dir) -> bool {
    let Ok(about) = rustix::fs::fstatfs(directory) else { return false };
    let name = about.f_fstypename.iter().flat_map(|byte| byte.to_ne_bytes()).take_while(|byte| *byte != 0);
    matches!(&*name.collect::<Vec<u8>>(), b"apfs" | b"hfs" | b"nfs" | b"smbfs")
}

/// Makes system calls of this process fail with `EDEADLK` instead of waiting while a file, or the names of a
/// directory, are fetched from a cloud (Apple's TN3150). Must be called at the program's start.
#[expect(unsafe_code, reason = "no crate at hand has this call")]
pub fn fetch_nothing() -> io::Result<()> {
    unsafe extern "C" {
        fn setiopolicy_np(kind: libc::c_int, scope: libc::c_int, policy: libc::c_int) -> libc::c_int;
    }
    // IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES, IOPOL_SCOPE_PROCESS, IOPOL_MATERIALIZE_DATALESS_FILES_OFF
    // (sys/resource.h). SAFETY: the call takes three numbers.
    if unsafe { setiopolicy_np(3, 0, 1) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the file itself. Fails if the file is a placeholder whose content is in a cloud.
pub(crate) fn as_programs_see(file: File, _write: bool) -> io::Result<File> {
    let is_dataless = apple::is_dataless(rustix::fs::fstat(&file)?.st_flags);
    if is_dataless { Err(apple::not_downloaded()) } else { Ok(file) }
}

/// Tells whether an error says that a file is a placeholder whose content is in a cloud and is not fetched
/// for this process.
pub(crate) fn is_not_downloaded(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(apple::is_not_downloaded)
}

/// Returns the privacy setting that denied access to a path; `None` if something else denied it.
pub(crate) fn privacy_of(path: &Path, error: &io::Error, _: bool) -> Option<Privacy> {
    apple::privacy_of(path, error.raw_os_error()?)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use super::*;
    use crate::tests::world::opened;

    #[test]
    fn a_name_is_told_as_it_is_listed() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("Caf\u{e9}"), "").unwrap();
        let directory = opened(home.path());
        let stored = |name: &str| stored_name(&directory, OsStr::new(name));
        if directory.symlink_metadata("CAFE\u{301}").is_ok() {
            assert_eq!(stored("CAFE\u{301}"), Some("Caf\u{e9}".into()));
        }
        assert_eq!(stored("Caf\u{e9}"), Some("Caf\u{e9}".into()));
        std::fs::hard_link(home.path().join("Caf\u{e9}"), home.path().join("other")).unwrap();
        assert_eq!(["Caf\u{e9}", "other", "none"].map(stored), [None, None, None]);
    }
}
