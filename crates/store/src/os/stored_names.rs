//! Looks up names in the storage, bypassing the caches of this machine: [`StoredNames`].
//!
//! A machine caches which file a name leads to. On a network file system, another machine may have given the
//! name to another file since, and this machine is not notified. Measured with two mounts of `GlusterFS` 10.3
//! with its defaults, while a thread on one machine looks at a file, and the other machine renames a file
//! over it:
//!
//! - `stat`, `statx` with `AT_STATX_FORCE_SYNC`, and an open, even with `O_DIRECT`, lead to the earlier file
//!   if that file has another name. `O_DIRECT` then returns the stored bytes of the wrong file.
//! - Waiting does not help while any program looks at the earlier file: each answer about it renews the entry
//!   for its name in the client's cache (`performance/md-cache`). If no program looks, the timeouts of the
//!   kernel and of the client add up: 2 s.
//! - A new listing of the directory is up to date at once, and makes the kernel forget wrong names.
//!   `O_DIRECT` reads the stored bytes at once. Both together were right in each of 72 trials.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::os::stored::{forget_pages, is_shared, open_stored};

/// Some names of a directory, as the storage had them at one instant.
///
/// If no other machine can write to the directory, the caches are up to date, so a name is looked up only
/// when the caller asks for it.
#[derive(Debug)]
pub(crate) struct StoredNames(Option<Listed>);

#[derive(Debug)]
struct Listed {
    /// The inode number that each name leads to; `None` if there is no such name.
    inodes: BTreeMap<OsString, Option<u64>>,
    /// Whether a listing has the same inode numbers as stat(2). The listings of some FUSE file systems have
    /// none.
    tells_inodes: bool,
}

/// The file that a name leads to, according to the storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lead {
    /// The name leads to the file, or its file cannot be determined.
    Here,
    /// The name leads to another file.
    Elsewhere,
    /// There is no such name.
    Nowhere,
}

impl StoredNames {
    /// Lists a directory, and remembers the inode numbers of these names.
    pub(crate) fn list(directory: &Dir, names: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        if !is_shared(directory)? {
            return Ok(Self(None));
        }
        let inodes = names.into_iter().map(|name| (name, None)).collect();
        let mut listed = Listed { inodes, tells_inodes: false };
        listed.list(directory)?;
        Ok(Self(Some(listed)))
    }

    /// Tells whether a name that was passed to [`StoredNames::list`] leads to the file with this inode
    /// number.
    pub(crate) fn lead(&self, directory: &Dir, name: &OsStr, inode: u64) -> io::Result<Lead> {
        let Some(listed) = self.0.as_ref().filter(|listed| listed.tells_inodes) else {
            return Ok(Lead::Here);
        };
        match listed.inodes.get(name).copied().flatten() {
            Some(stored) if stored == inode => return Ok(Lead::Here),
            Some(_) => return Ok(Lead::Elsewhere),
            None => {}
        }
        // Some file systems accept another spelling of a name, such as another letter case. If the directory
        // may list the file under another spelling, the name counts as leading to the file.
        let mut is_spelled_otherwise = !name.is_ascii();
        for_each_inode(directory, |other, _| is_spelled_otherwise |= other.eq_ignore_ascii_case(name))?;
        Ok(if is_spelled_otherwise { Lead::Here } else { Lead::Nowhere })
    }

    /// Opens the file that a name leads to, for reading, without blocking. Returns `None` if there is no such
    /// name, and an error for a link. The caller must check the kind of the file.
    ///
    /// The bytes must be read in blocks that begin at a page boundary, since the file may be open with
    /// `O_DIRECT`. Fails with `ESTALE` if, after retries, this machine's caches still lead to another file.
    pub(crate) fn open(&mut self, directory: &Dir, name: &OsStr) -> io::Result<Option<File>> {
        let path = Path::new(name);
        let Some(listed) = &mut self.0 else {
            return match os::open_file_to_read(directory, path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                opened => opened.map(Some),
            };
        };
        let mut is_first = true;
        while_stale(|| {
            if !std::mem::take(&mut is_first) {
                listed.list(directory)?;
            }
            let Some(inode) = listed.inode(directory, name)? else { return Ok(None) };
            let opened = match open_stored(directory, path) {
                // The file system has no `O_DIRECT`.
                Ok(None) => os::open_file_to_read(directory, path).inspect(forget_pages),
                opened => opened.and_then(|file| file.ok_or_else(stale)),
            };
            let file = match opened {
                // The listing has the name, so the error comes from a stale cache.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(stale()),
                opened => opened?,
            };
            os::ask_anew(&file);
            let is_it = !listed.tells_inodes || os::identity_of(&file)?.inode == inode;
            if is_it { Ok(Some(file)) } else { Err(stale()) }
        })
    }
}

fn stale() -> io::Error {
    io::ErrorKind::StaleNetworkFileHandle.into()
}

impl Listed {
    fn inode(&mut self, directory: &Dir, name: &OsStr) -> io::Result<Option<u64>> {
        if let Some(inode) = self.inodes.get(name) {
            return Ok(*inode);
        }
        self.inodes.insert(name.to_owned(), None);
        self.list(directory)?;
        Ok(self.inodes.get(name).copied().flatten())
    }

    fn list(&mut self, directory: &Dir) -> io::Result<()> {
        self.inodes.values_mut().for_each(|inode| *inode = None);
        let own = os::key_of_directory(directory)?.1;
        for_each_inode(directory, |name, inode| {
            if name == "." {
                self.tells_inodes = inode == own;
            } else if let Some(listed) = self.inodes.get_mut(name) {
                *listed = Some(inode);
            }
        })
    }
}

/// Calls `each` once for every name in a directory, `.` included, with the inode number in the listing.
/// Always makes a new listing.
#[cfg(target_os = "linux")]
fn for_each_inode(directory: &Dir, mut each: impl FnMut(&OsStr, u64)) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    for entry in rustix::fs::Dir::new(os::open_to_read(directory)?)? {
        let entry = entry?;
        each(OsStr::from_bytes(entry.file_name().to_bytes()), entry.ino());
    }
    Ok(())
}

/// Fails. Nothing calls this function, since a file system counts as shared only on Linux.
#[cfg(not(target_os = "linux"))]
fn for_each_inode(_: &Dir, _: impl FnMut(&OsStr, u64)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;

    use rustix::io::{Errno, FdFlags, fcntl_getfd};

    use super::*;
    use crate::os::read_at;
    use crate::tests::mounted::Mounted;
    use crate::tests::world::opened;

    fn text(file: &File) -> String {
        let mut bytes = [0; 16];
        let got = read_at(file, &mut bytes, 0).unwrap();
        String::from_utf8_lossy(&bytes[..got]).into_owned()
    }

    fn names() -> [OsString; 4] {
        ["edited", "removed", "made", "link"].map(OsString::from)
    }

    /// Fills a directory, then looks at its names through `seen`, and changes them through `stored`.
    fn changed(stored: &Path, seen: &Path) -> (Dir, StoredNames) {
        for name in ["edited", "removed"] {
            fs::write(stored.join(name), "old").unwrap();
        }
        std::os::unix::fs::symlink("edited", stored.join("link")).unwrap();
        for name in names() {
            fs::read(seen.join(name)).ok();
        }
        fs::write(stored.join("new"), "new").unwrap();
        // The old file keeps another name, so a cache that leads to it gets no error.
        fs::hard_link(stored.join("edited"), stored.join("backup")).unwrap();
        fs::rename(stored.join("new"), stored.join("edited")).unwrap();
        fs::rename(stored.join("removed"), stored.join("elsewhere")).unwrap();
        fs::write(stored.join("made"), "made").unwrap();
        let directory = opened(seen);
        let listed = StoredNames::list(&directory, names()).unwrap();
        (directory, listed)
    }

    fn check(directory: &Dir, mut listed: StoredNames) {
        let mut open = |name: &str| listed.open(directory, OsStr::new(name));
        let edited = open("edited").unwrap().unwrap();
        assert_eq!(fcntl_getfd(&edited).unwrap(), FdFlags::CLOEXEC);
        assert_eq!([edited, open("made").unwrap().unwrap()].map(|file| text(&file)), ["new", "made"]);
        assert!(open("removed").unwrap().is_none());
        assert_eq!(Errno::from_io_error(&open("link").unwrap_err()), Some(Errno::LOOP));
        // A name that was not passed to `list` is looked up, too.
        assert_eq!(text(&open("backup").unwrap().unwrap()), "old");
    }

    #[test]
    fn where_no_other_machine_writes_names_are_looked_up() {
        let home = tempfile::tempdir().unwrap();
        let (directory, listed) = changed(home.path(), home.path());
        assert!(listed.0.is_none());
        check(&directory, listed);
    }

    /// `bindfs` caches no names. So the test falsifies the listing instead of the kernel's cache: either way,
    /// the two disagree.
    #[test]
    fn a_file_that_disagrees_with_the_listing_is_not_taken_for_the_named_one() {
        let home = tempfile::tempdir().unwrap();
        let Some(shared) = Mounted::fuse(home.path(), &[]) else { return };
        let (directory, mut listed) = changed(home.path(), &shared.path(""));
        let inodes = &mut listed.0.as_mut().unwrap().inodes;
        assert_eq!(inodes.values().filter(|inode| inode.is_some()).count(), 3, "{inodes:?}");
        inodes.insert("edited".into(), Some(1));
        inodes.insert("removed".into(), Some(1));
        inodes.insert("MADE".into(), None);
        inodes.insert("gone".into(), None);
        let inode = inodes.get(OsStr::new("made")).copied().flatten().unwrap();
        let lead = |name: &str| listed.lead(&directory, OsStr::new(name), inode).unwrap();
        // On a file system that ignores case the other spelling would be the same name.
        assert_eq!(
            ["made", "edited", "gone", "MADE"].map(lead),
            [Lead::Here, Lead::Elsewhere, Lead::Nowhere, Lead::Here]
        );
        check(&directory, listed);
    }
}
