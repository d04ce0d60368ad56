//! Creates the directories for a new file, [`Made`], and removes the directories of a file that has left
//! them, [`remove_directories`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::directory::open_directory;
use crate::access::place::Place;
use crate::durability::Durability;
use crate::error::{Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::vanishing::remove_directory;
use crate::workspace::Workspace;

/// Created directories, outermost first. Dropping them removes those that are empty.
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
    /// Creates the missing directories above a place. A directory that another call creates meanwhile is
    /// used, and is not removed.
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

    /// Returns the directory that contains the place, now that it exists.
    pub(super) fn innermost<'a>(&'a self, place: &'a Place) -> &'a Arc<Dir> {
        self.innermost.as_ref().unwrap_or(&place.directory)
    }

    /// Waits until the names of the created directories are on disk.
    pub(super) fn sync_parents(&self) -> io::Result<()> {
        self.directories.iter().try_for_each(|one| os::sync_directory(&one.parent))
    }

    /// Returns the paths of the created directories, outermost first.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|one| one.path.clone()).collect()
    }

    /// Makes the created directories stay when this value is dropped.
    pub(super) fn keep(&mut self) {
        self.directories.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Windows removes no directory that has an open handle.
        self.innermost = None;
        while let Some(One { parent, name, .. }) = self.directories.pop() {
            // The directory is in use by now, so it stays, and so do its ancestors.
            if remove_directory(&parent, &name).is_err() {
                break;
            }
        }
    }
}

/// Removes directories that are empty and still at their paths, inner directories first. Must be called once
/// for all files of a call: the directories of one file may be inside those of another.
pub(crate) fn remove_directories<'a>(
    workspace: &Workspace,
    directories: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), StoreError> {
    let directories: BTreeSet<&PathBuf> = directories.into_iter().collect();
    for path in directories.into_iter().rev() {
        let Some(place) = workspace.roots.place(path).ok().filter(|place| place.path() == path) else {
            continue;
        };
        // A killed process may have removed this directory, but not yet its ancestors.
        if !place.missing.is_empty() {
            continue;
        }
        match remove_directory(&place.directory, place.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_in_use(&error) => continue,
            Err(error) => return Err(StoreError::from_io(Operation::Remove, path, error)),
        }
        // An error is ignored: at worst, an empty directory comes back after a power cut.
        if workspace.durability == Durability::Machine {
            os::sync_directory(&place.directory).ok();
        }
    }
    Ok(())
}

/// Tells whether the error says that the directory is in use, or that nothing may be removed there.
fn is_in_use(error: &io::Error) -> bool {
    use io::ErrorKind::{
        DirectoryNotEmpty, NotADirectory, PermissionDenied, ReadOnlyFilesystem, ResourceBusy,
    };
    // Some systems answer EEXIST for a directory that is not empty (rmdir(2)).
    matches!(
        error.kind(),
        DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | NotADirectory
            | PermissionDenied
            | ReadOnlyFilesystem
            | ResourceBusy
    ) || os::is_held_open(error)
}
