//! Opens the state directory: [`StateDir`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;

use crate::error::{ErrorContext as _, Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::real_path;
use crate::state_dir::private::{Holds, NotPrivate, check_above, claim, create_private_directories};

/// The subdirectory with a journal record for each running transaction.
pub(crate) const JOURNAL: &str = "journal";

/// The subdirectory for the new content of files whose own directory is not writable.
pub(crate) const CONTENT: &str = "content";

/// The file with the database of past edits.
pub const HISTORY: &str = "history.db";

/// The open state directory.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    directory: Arc<Dir>,
    journal: Arc<Dir>,
    content: Arc<Dir>,
}

impl StateDir {
    /// Opens the state directory. Creates it and the missing directories above it, with mode 0700 whatever
    /// the umask; on Windows, with an access list for this user, the system and the administrators.
    ///
    /// If other users have rights to the directory and it holds only the state, makes it private. Fails if
    /// the directory belongs to another user or cannot be made private, if others could replace it, if
    /// something in it belongs to another user, or if it is on a network file system (as far as Linux and
    /// Windows report that). The source of the error is then a
    /// [`NotPrivate`](crate::state_dir::private::NotPrivate).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let make = |path: &Path| create_private_directories(path).context(Operation::OpenState, path);
        let check = |real: &Path| check_above(path, real).context(Operation::OpenState, path);
        // The check runs before anything is created, and again afterwards, since the directory may not have
        // existed before.
        check(&real_path(path))?;
        make(path)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the state directory is named by its real path, found once"
        )]
        let path = std::fs::canonicalize(path).context(Operation::OpenState, path)?;
        check(&path)?;
        let open = |path: &Path, holds: Holds<'_>| {
            make(path)?;
            let directory = Dir::open_ambient_dir(path, ambient_authority());
            let directory = directory.context(Operation::OpenState, path)?;
            claim(&directory, holds).context(Operation::OpenState, path)?;
            os::check_writable(&directory).context(Operation::OpenState, path)?;
            Ok(Arc::new(directory))
        };
        let is_local = |directory: &Dir| -> io::Result<()> {
            match os::network_file_system(directory)? {
                Some(name) => Err(NotPrivate::Network(name).into()),
                None => Ok(()),
            }
        };
        let directory = open(&path, Holds::Only(&[JOURNAL, CONTENT, HISTORY]))?;
        is_local(&directory).context(Operation::OpenState, &path)?;
        let journal = open(&path.join(JOURNAL), Holds::Anything)?;
        let content = open(&path.join(CONTENT), Holds::Anything)?;
        Ok(Self { path, directory, journal, content })
    }

    /// Returns the directory's handle, for [`confine`](crate::access::landlock::confine).
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Returns the directory's real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn journal(&self) -> &Arc<Dir> {
        &self.journal
    }

    pub(crate) fn content(&self) -> &Arc<Dir> {
        &self.content
    }
}

#[cfg(test)]
#[cfg(windows)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::state_dir::access_list::{AccessList, private_to};

    fn list(path: &Path) -> AccessList {
        AccessList::read(&os::access_list_of(path).unwrap()).unwrap()
    }

    /// Tells why a state directory is refused, with its path.
    fn open(path: &Path) -> Result<(), String> {
        let Err(error) = StateDir::open(path) else { return Ok(()) };
        let source = error.source.unwrap();
        let why = source.get_ref().and_then(|why| why.downcast_ref::<NotPrivate>());
        Err(why.map_or_else(|| panic!("{source}"), |why| format!("{why:?}")))
    }

    #[test]
    fn the_state_directory_has_an_access_list_of_its_own() {
        let user = os::own_user().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("a").join("state");
        open(&state).unwrap();
        for path in [directory.path().join("a"), state.clone(), state.join("journal"), state.join("content")]
        {
            let list = list(&path);
            assert!(list.is_owned_by(&user) && !list.is_open_to_others(&user), "{path:?}: {list:?}");
        }
        open(&state).unwrap();
    }

    #[test]
    fn a_state_directory_that_is_open_to_others_is_made_private_or_refused() {
        let user = os::own_user().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (state, other) = (directory.path().join("state"), directory.path().join("other"));
        let everybody = format!("{}(A;OICI;FA;;;WD)", private_to(&user));
        for path in [&state, &other] {
            os::create_directory_with(path, &everybody).unwrap();
            assert!(list(path).is_open_to_others(&user));
        }
        open(&state).unwrap();
        assert!(!list(&state).is_open_to_others(&user));
        std::fs::write(other.join("letter.txt"), "dear").unwrap();
        assert_eq!(open(&other), Err("Shared(\"letter.txt\")".to_owned()));
        assert!(list(&other).is_open_to_others(&user), "and it stays as it is");
        if list(&other).who_renames_in_it(&user).is_none() {
            return eprintln!(
                "skipped: this system does not keep the right to rename what is in a directory"
            );
        }
        // A directory is refused, too, if everybody can rename what is in the one above it.
        assert!(open(&other.join("state")).unwrap_err().starts_with("Renamable {"));
        assert!(!other.join("state").exists());
    }
}
