//! The state directory: where what outlives a process is kept, for this user alone. What is in it is the journal's and the
//! history's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{Context as _, Operation, StoreError};
use crate::platform;

/// The state directory, open.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    directory: Arc<Dir>,
}

impl State {
    /// Opens the directory, and makes it and those above it where they are missing: mode 0700, whatever the umask.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        platform::create_private_directories(path).context(Operation::OpenState, path)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the state directory is named by its real path, found once"
        )]
        let path = std::fs::canonicalize(path).context(Operation::OpenState, path)?;
        let directory =
            Dir::open_ambient_dir(&path, ambient_authority()).context(Operation::OpenState, &path)?;
        Ok(Self { path, directory: Arc::new(directory) })
    }

    /// Its handle.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the journal is to be in it"))]
    pub(crate) fn directory(&self) -> &Arc<Dir> {
        &self.directory
    }

    /// Its real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
