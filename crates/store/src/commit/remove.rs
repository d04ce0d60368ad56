//! Removes files and directories that may be another program's by now: [`take_away`], [`remove_directories`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;

use crate::access::place::Bytes;
use crate::commit::displaced::give_back;
use crate::durability::Durability;
use crate::error::{Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{remove_file, rename};
use crate::os::vanishing::remove_directory;
use crate::read::hash::digest_of_bytes;
use crate::workspace::Workspace;

/// Whether the name means the file `open` and that has this digest. Only where identities do not last can it
/// be another file of the same bytes.
pub(super) fn holds(directory: &Dir, name: &Path, digest: Digest, open: &File) -> io::Result<bool> {
    let now = os::identity_at(directory, name)?;
    if os::identity_of(open)?.same_file(&now) {
        return Ok(digest_of_bytes(&Bytes::now(open)?)? == digest);
    }
    if os::identity_lasts(directory) {
        return Ok(false);
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = match directory.open_with(name, &options) {
        // A symbolic link is never ours.
        Err(error) if os::is_link_loop(&error) => return Ok(false),
        opened => os::as_programs_see(opened?.into_std(), false)?,
    };
    Ok(file.metadata()?.is_file() && digest_of_bytes(&Bytes::now(&file)?)? == digest)
}

/// Deletes the file of this name if it is the file `open`, and its content has this digest. It is renamed to
/// `aside` first, so that nobody can replace it between check and deletion, and gets its name back if it is
/// another. If it cannot be unlinked, that is an error, and the file has one of the two names.
pub(crate) fn take_away(
    directory: &Dir,
    name: &Path,
    aside: &Path,
    digest: Digest,
    open: &File,
) -> io::Result<()> {
    match rename(directory, name, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    match holds(directory, aside, digest, open) {
        Ok(true) => remove_file(directory, aside),
        is_another => give_back(directory, aside, name).and(is_another.map(drop)),
    }
}

/// Removes directories that are empty and still where they were, inner ones first. To be called once for all
/// files of a call: the directories of one file may be inside those of another.
pub(crate) fn remove_directories<'a>(
    workspace: &Workspace,
    directories: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), StoreError> {
    let directories: BTreeSet<&PathBuf> = directories.into_iter().collect();
    for path in directories.into_iter().rev() {
        let Some(place) = workspace.roots.place(path).ok().filter(|place| place.path() == path) else {
            continue;
        };
        // A killed process may have removed this directory and not those around it.
        if !place.missing.is_empty() {
            continue;
        }
        match remove_directory(&place.directory, place.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_in_use(&error) => continue,
            Err(error) => return Err(StoreError::from_io(Operation::Remove, path, error)),
        }
        // After a power cut at most an empty directory comes back.
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

#[cfg(test)]
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::tests::world::World;

    /// Another program has put it there since: a link, a socket, a directory, a file of the same bytes.
    #[test]
    fn only_the_file_itself_is_taken_away() {
        let world = World::new();
        world.write("@/root/other", "text\n");
        let (path, aside) = (world.path("@/root/a"), Path::new("aside"));
        let other = File::open(world.path("@/root/other")).unwrap();
        let digest = Digest::of(b"text\n");
        let taken = |open: &File| {
            take_away(&world.place("@/root/other").directory, Path::new("a"), aside, digest, open)
        };
        world.link("@/root/a", "@/root/other");
        taken(&other).unwrap();
        assert!(path.is_symlink());
        std::fs::remove_file(&path).unwrap();
        let socket = UnixListener::bind(&path).unwrap();
        taken(&other).unwrap();
        assert!(path.exists());
        drop(socket);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        taken(&other).unwrap();
        assert!(path.is_dir());
        std::fs::remove_dir(&path).unwrap();
        world.write("@/root/a", "text\n");
        taken(&other).unwrap();
        assert!(path.exists(), "it has the same bytes, and is another file");
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(world.path("@/root/other"), &path).unwrap();
        taken(&other).unwrap();
        assert_eq!(world.names(), ["outside", "root", "root/other"]);
    }
}
