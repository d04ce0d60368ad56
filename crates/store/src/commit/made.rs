//! The directories that are made for a new name: [`Made`].

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::directory::open_directory;
use crate::access::place::Place;
use crate::error::{Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::vanishing::remove_directory;

/// Directories that were made, outermost first; removed when dropped, as far as they are empty.
#[derive(Debug, Default)]
pub(crate) struct Made {
    directories: Vec<One>,
    innermost: Option<Arc<Dir>>,
}

#[derive(Debug)]
struct One {
    parent: Arc<Dir>,
    name: OsString,
    path: PathBuf,
}

impl Made {
    /// Makes the missing directories on the way to a place. One that another call makes meanwhile is used,
    /// and is not removed.
    pub(crate) fn below(place: &Place) -> Result<Self, StoreError> {
        let mut made = Self::default();
        let mut parent = place.directory.clone();
        let above = place.path().ancestors().skip(1);
        let mut paths: Vec<&Path> = above.take(place.missing.len()).collect();
        paths.reverse();
        for (name, path) in place.missing.iter().zip(paths) {
            match parent.create_dir(name) {
                Ok(()) => {
                    let one = One { parent: parent.clone(), name: name.clone(), path: path.to_owned() };
                    made.directories.push(one);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::from_io(Operation::CreateDirectory, path, error)),
            }
            parent = Arc::new(open_directory(&parent, name, path)?);
        }
        made.innermost = Some(parent);
        Ok(made)
    }

    /// Returns the directory that holds the place now.
    pub(super) fn innermost<'a>(&'a self, place: &'a Place) -> &'a Arc<Dir> {
        self.innermost.as_ref().unwrap_or(&place.directory)
    }

    /// Waits until the names of those that were made are on disk.
    pub(super) fn sync_parents(&self) -> io::Result<()> {
        self.directories.iter().try_for_each(|one| os::sync_directory(&one.parent))
    }

    /// Returns their paths, outermost first.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|one| one.path.clone()).collect()
    }

    /// Leaves them where they are.
    pub(super) fn keep(&mut self) {
        self.directories.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Windows removes no directory that has an open handle.
        self.innermost = None;
        while let Some(One { parent, name, .. }) = self.directories.pop() {
            // It is in use by now, so it stays, and so do those around it.
            if remove_directory(&parent, &name).is_err() {
                break;
            }
        }
    }
}
