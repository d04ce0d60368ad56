//! Removes a directory, also on file systems that keep an unlinked file in it for a moment:
//! [`remove_directory`].

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::os::directory::Dir;
use crate::os::patience::{Patience, while_held};

/// The maximum waiting time while the directory has only files that are about to vanish.
const LIMIT: Duration = Duration::from_millis(200);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The prefixes of the names that file systems give to a file that was unlinked while open: libfuse, the NFS
/// client, lowntfs-3g.
const HIDDEN: [&str; 3] = [".fuse_hidden", ".nfs", ".ghost-ntfs-3g-"];

/// Removes an empty directory.
///
/// A file that was unlinked while open can keep a name in the directory until the file system learns that the
/// file is closed. On FUSE, that can be after close(2) has returned. The removal waits a moment, at most
/// `LIMIT`, for such files to vanish. On Windows, the removal also waits while another program has the
/// directory open.
pub(crate) fn remove_directory(parent: &Dir, name: impl AsRef<OsStr>) -> io::Result<()> {
    let name = Path::new(name.as_ref());
    let mut patience = Patience::new(PAUSE, PAUSE, LIMIT);
    let is_passing = |error: &io::Error| {
        error.kind() == io::ErrorKind::DirectoryNotEmpty && holds_only_hidden(parent, name)
    };
    loop {
        match while_held(|| parent.remove_dir(name)) {
            Err(error) if is_passing(&error) && patience.wait() => {}
            removed => return removed,
        }
    }
}

fn holds_only_hidden(parent: &Dir, name: &Path) -> bool {
    let Ok(mut entries) = parent.read_dir(name) else { return false };
    entries.all(|entry| {
        let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
        HIDDEN.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    })
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use std::thread;

    use super::*;
    use crate::tests::world::opened;

    #[test]
    fn what_is_about_to_go_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let parent = opened(directory.path());
        let hidden = directory.path().join("made/.fuse_hidden0000000600000001");
        std::fs::create_dir(directory.path().join("made")).unwrap();
        std::fs::write(&hidden, "").unwrap();
        // The first attempt finds the file, which is removed during the pauses.
        thread::scope(|scope| {
            let removing = scope.spawn(|| remove_directory(&parent, "made"));
            thread::sleep(PAUSE);
            std::fs::remove_file(&hidden).unwrap();
            removing.join().unwrap().unwrap();
        });
        assert!(!directory.path().join("made").exists());
    }

    #[test]
    fn a_directory_that_is_used_stays() {
        let directory = tempfile::tempdir().unwrap();
        let parent = opened(directory.path());
        std::fs::create_dir(directory.path().join("made")).unwrap();
        for name in [".fuse_hidden0000000600000001", "file"] {
            std::fs::write(directory.path().join("made").join(name), "").unwrap();
            let error = remove_directory(&parent, "made").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
        }
        assert_eq!(std::fs::read_dir(directory.path().join("made")).unwrap().count(), 2);
    }
}
