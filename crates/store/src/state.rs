//! The state directory: where what outlives a process is kept, for this user alone. What is in it is the journal's, the
//! history's, and new content of files whose own directory cannot be written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{Context as _, Operation, StoreError};
use crate::platform;

/// The directory in it that holds a record for each transaction under way.
pub(crate) const JOURNAL: &str = "journal";

/// The directory in it for new content of files whose own directory cannot be written.
pub(crate) const CONTENT: &str = "content";

/// The state directory, open.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    directory: Arc<Dir>,
    journal: Arc<Dir>,
    content: Arc<Dir>,
}

impl State {
    /// Opens the directory, and makes it and those above it where they are missing: mode 0700, whatever the umask.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let make =
            |path: &Path| platform::create_private_directories(path).context(Operation::OpenState, path);
        make(path)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the state directory is named by its real path, found once"
        )]
        let path = std::fs::canonicalize(path).context(Operation::OpenState, path)?;
        let open = |path: &Path| {
            make(path)?;
            let directory = Dir::open_ambient_dir(path, ambient_authority());
            let directory = directory.context(Operation::OpenState, path)?;
            platform::check_writable(&directory).context(Operation::OpenState, path)?;
            Ok(Arc::new(directory))
        };
        let (journal, content) = (open(&path.join(JOURNAL))?, open(&path.join(CONTENT))?);
        Ok(Self { directory: open(&path)?, journal, content, path })
    }

    /// Its handle.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Landlock asks for it"))]
    pub(crate) fn directory(&self) -> &Arc<Dir> {
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
