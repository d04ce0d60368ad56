//! Defines [`Dir`], the handle of a directory. It wraps cap-std's handle, and replaces the operations for
//! which cap-std uses a path.
//!
//! For these operations, cap-std takes the path of the handle, removes `\\?\`, and joins the name. This has
//! two faults. Without the prefix, `\\?\UNC\server\share` is a relative path, so no operation would work in a
//! share. And in any other path without the prefix, Win32 drops dots and spaces at the end of names. Here,
//! the path keeps its prefix. Each operation uses the path that the directory has at that moment. As long as
//! the handle is open, the directory can be neither renamed nor removed, since the handle's share mode does
//! not allow that.
//!
//! The handles of roots, the directories that the server serves (`open_root`), and of directories that are
//! only listed (`open_to_list`) do allow renaming and removal, so that other programs can work there.
//! Operations that use a path never use such a handle. An edit in a root opens a separate handle (`hold`).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::path::{Path, PathBuf};

use cap_std::AmbientAuthority;

use crate::os::windows::identity::opened_path;

/// An open directory.
#[derive(Debug)]
pub struct Dir(cap_std::fs::Dir);

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct DirEntry(std::fs::DirEntry);

/// An iterator over the names in a directory.
type Entries = std::iter::Map<std::fs::ReadDir, fn(io::Result<std::fs::DirEntry>) -> io::Result<DirEntry>>;

impl Deref for Dir {
    type Target = cap_std::fs::Dir;

    fn deref(&self) -> &cap_std::fs::Dir {
        &self.0
    }
}

impl From<cap_std::fs::Dir> for Dir {
    fn from(directory: cap_std::fs::Dir) -> Self {
        Self(directory)
    }
}

impl AsRawHandle for Dir {
    fn as_raw_handle(&self) -> RawHandle {
        self.0.as_raw_handle()
    }
}

impl Dir {
    pub(crate) fn open_ambient_dir(path: impl AsRef<Path>, authority: AmbientAuthority) -> io::Result<Self> {
        cap_std::fs::Dir::open_ambient_dir(path, authority).map(Self)
    }

    pub(crate) fn from_std_file(file: File) -> Self {
        Self(cap_std::fs::Dir::from_std_file(file))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Returns the path of a name in the directory, with the prefix `\\?\`, so that Windows uses the path
    /// unchanged.
    fn path_of(&self, name: &Path) -> io::Result<PathBuf> {
        let path = opened_path(&self.0)?;
        Ok(if name == Path::new(".") { path } else { path.join(name) })
    }

    pub(crate) fn rename(
        &self,
        from: impl AsRef<Path>,
        to_directory: &Self,
        to: impl AsRef<Path>,
    ) -> io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "both paths are of names in open directories")]
        std::fs::rename(self.path_of(from.as_ref())?, to_directory.path_of(to.as_ref())?)
    }

    pub(crate) fn hard_link(
        &self,
        from: impl AsRef<Path>,
        to_directory: &Self,
        to: impl AsRef<Path>,
    ) -> io::Result<()> {
        std::fs::hard_link(self.path_of(from.as_ref())?, to_directory.path_of(to.as_ref())?)
    }

    pub(crate) fn remove_file(&self, name: impl AsRef<Path>) -> io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "the path is of a name in an open directory")]
        std::fs::remove_file(self.path_of(name.as_ref())?)
    }

    pub(crate) fn remove_dir(&self, name: impl AsRef<Path>) -> io::Result<()> {
        std::fs::remove_dir(self.path_of(name.as_ref())?)
    }

    pub(crate) fn create_dir(&self, name: impl AsRef<Path>) -> io::Result<()> {
        std::fs::create_dir(self.path_of(name.as_ref())?)
    }

    pub(crate) fn read_dir(&self, name: impl AsRef<Path>) -> io::Result<Entries> {
        let as_ours: fn(io::Result<std::fs::DirEntry>) -> io::Result<DirEntry> = |entry| entry.map(DirEntry);
        Ok(std::fs::read_dir(self.path_of(name.as_ref())?)?.map(as_ours))
    }

    pub(crate) fn entries(&self) -> io::Result<Entries> {
        self.read_dir(".")
    }
}

impl DirEntry {
    pub(crate) fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    pub(crate) fn file_type(&self) -> io::Result<std::fs::FileType> {
        self.0.file_type()
    }
}
