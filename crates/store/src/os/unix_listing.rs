//! Lists the directories and opens the files of a walk through a directory tree, in as few system calls as
//! possible.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::os::directory::Dir;
#[cfg(target_vendor = "apple")]
use crate::os::macos::as_programs_see;
use crate::os::seen::Listed;
#[cfg(not(target_vendor = "apple"))]
use crate::os::unix::as_programs_see;

/// Opens a directory for listing, by its name in its parent, or by `.`. A link is refused.
pub(crate) fn open_to_list(parent: &Dir, name: &Path) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(directory)))
}

/// Calls `each` with the name and the kind of every entry in a directory, until `each` returns `false`.
/// [`open_to_list`] must have opened the directory.
pub(crate) fn for_each_name(
    directory: &Dir,
    mut each: impl FnMut(OsString, Listed) -> bool,
) -> io::Result<()> {
    let handle = directory.try_clone()?.into_std_file();
    for entry in rustix::fs::Dir::new(handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems list names without their kinds.
            FileType::Unknown => {
                match rustix::fs::statat(directory, Path::new(name), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(seen) => FileType::from_raw_mode(seen.st_mode),
                    Err(_) => FileType::Unknown,
                }
            }
            known => known,
        };
        let kind = match kind {
            // A cloud placeholder (macOS) counts as a file here; opening it fails.
            FileType::RegularFile => Listed::File,
            FileType::Directory => Listed::Directory,
            FileType::Symlink => Listed::Link,
            // An entry that cannot be looked up counts as special, too.
            _ => Listed::Special,
        };
        if !each(name.to_owned(), kind) {
            break;
        }
    }
    Ok(())
}

/// Opens a file by its name in a directory, for reading, without blocking. A link is refused. The caller must
/// check the kind of the file afterwards.
pub(crate) fn open_file_to_read(directory: &Dir, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?);
    as_programs_see(file, false)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::io::{Errno, FdFlags, fcntl_getfd};

    use super::*;
    use crate::tests::world::opened;

    /// Makes a file, a directory, a socket, and a link to each of the first two.
    fn fill(path: &Path) {
        fs::write(path.join("file"), "").unwrap();
        fs::create_dir(path.join("directory")).unwrap();
        std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
        symlink("file", path.join("to_file")).unwrap();
        symlink("directory", path.join("to_directory")).unwrap();
    }

    fn kinds(path: &Path) -> Vec<(OsString, Listed)> {
        let mut entries = Vec::new();
        let directory = open_to_list(&opened(path), Path::new(".")).unwrap();
        for_each_name(&directory, |name, kind| {
            entries.push((name, kind));
            true
        })
        .unwrap();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        entries
    }

    #[test]
    fn each_name_has_its_kind_whether_the_directory_tells_it_or_not() {
        let expected = [
            ("directory", Listed::Directory),
            ("file", Listed::File),
            ("socket", Listed::Special),
            ("to_directory", Listed::Link),
            ("to_file", Listed::Link),
        ]
        .map(|(name, kind)| (name.into(), kind));
        let home = tempfile::tempdir().unwrap();
        fill(home.path());
        assert_eq!(kinds(home.path()), expected);
        #[cfg(target_os = "linux")]
        if let Some(ext4) = crate::tests::mounted::Mounted::disk("ext4", &["-O", "^filetype"], 8) {
            fs::remove_dir(ext4.path("lost+found")).unwrap();
            fill(&ext4.path(""));
            assert_eq!(kinds(&ext4.path("")), expected);
        }
    }

    #[test]
    fn a_listing_ends_where_nothing_more_is_wanted() {
        let home = tempfile::tempdir().unwrap();
        fill(home.path());
        let mut calls = 0;
        let directory = open_to_list(&opened(home.path()), Path::new(".")).unwrap();
        for_each_name(&directory, |_, _| {
            calls += 1;
            calls < 2
        })
        .unwrap();
        assert_eq!(calls, 2);
    }

    #[test]
    fn links_are_not_followed_nothing_is_waited_for_and_no_other_program_inherits() {
        let home = tempfile::tempdir().unwrap();
        fill(home.path());
        assert!(
            std::process::Command::new("mkfifo").arg(home.path().join("fifo")).status().unwrap().success()
        );
        let directory = opened(home.path());
        let to_list =
            |name| open_to_list(&directory, Path::new(name)).map(|found| fcntl_getfd(found).unwrap());
        let to_read =
            |name| open_file_to_read(&directory, Path::new(name)).map(|found| fcntl_getfd(found).unwrap());
        let error = |opened: io::Result<FdFlags>| Errno::from_io_error(&opened.unwrap_err()).unwrap();
        assert_eq!(to_list("directory").unwrap(), FdFlags::CLOEXEC);
        assert_eq!(error(to_list("file")), Errno::NOTDIR);
        assert_eq!(error(to_list("to_directory")), Errno::NOTDIR);
        assert_eq!(to_read("file").unwrap(), FdFlags::CLOEXEC);
        assert_eq!(to_read("fifo").unwrap(), FdFlags::CLOEXEC);
        assert_eq!(error(to_read("to_file")), Errno::LOOP);
    }
}
