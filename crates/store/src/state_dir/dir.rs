//! The state directory, open: [`StateDir`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;

use crate::error::{Context as _, Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::real_path;
use crate::state_dir::private::{Holds, NotPrivate, check_above, claim};

/// The directory in it that holds a record for each transaction under way.
pub(crate) const JOURNAL: &str = "journal";

/// The directory in it for new content of files whose own directory cannot be written.
pub(crate) const CONTENT: &str = "content";

/// The database of past edits in it.
pub const HISTORY: &str = "history.db";

/// The state directory, open.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    directory: Arc<Dir>,
    journal: Arc<Dir>,
    content: Arc<Dir>,
}

impl StateDir {
    /// Opens the directory, and makes it and those above it where they are missing: mode 0700, whatever the umask.
    ///
    /// One that others may use is made private if it holds nothing but the state. It is refused if it is another user's or
    /// cannot be made private, if others could exchange it, if something in it is not this user's, and if it is on a network
    /// file system (as far as Linux tells); the source of the error is then a [`NotPrivate`](crate::state_dir::private::NotPrivate).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let make = |path: &Path| os::create_private_directories(path).context(Operation::OpenState, path);
        let check = |real: &Path| check_above(path, real).context(Operation::OpenState, path);
        // Checked before anything is made there, and again afterwards, since the directory may not have existed yet.
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

    /// Its handle, for [`confine`](crate::access::landlock::confine).
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Its real path.
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
