//! Finds journal records, which are files in the state directory: [`FoundFile`].

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::source::CHUNK;

use crate::error::{ErrorContext as _, Operation, StoreError};
use crate::journal::contents::{Contents, FoundRecord, Here};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::stage::{TemporaryId, unlink_if};
use crate::state_dir::{JOURNAL, StateDir};

/// The maximum number of bytes that are read of a record. No real record is that long.
const LONGEST: u64 = 256 << 20;

/// A record in the journal that another process may own.
#[derive(Debug)]
pub(super) struct FoundFile {
    directory: Arc<Dir>,
    name: OsString,
    file: File,
    identity: Identity,
    path: PathBuf,
    contents: Contents,
    /// Whether the record's owner is dead, and this process holds the record's lock.
    is_abandoned: bool,
}

/// Tells whether an error says that a record is gone, belongs to another user, or is on a read-only file
/// system. This process can then do nothing about the record.
fn is_not_ours(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(kind, NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Reads a record, even while its owner holds the lock.
fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut block = vec![0; CHUNK];
    while (bytes.len() as u64) < LONGEST {
        match os::read_at(file, &mut block, bytes.len() as u64)? {
            0 => break,
            got => bytes.extend_from_slice(block.get(..got).unwrap_or_default()),
        }
    }
    Ok(bytes)
}

impl FoundFile {
    /// Returns all records in the journal. The records that this process could lock are abandoned; they stay
    /// locked until their values are dropped.
    pub(super) fn all(state: &StateDir) -> Result<Vec<Self>, StoreError> {
        let path = state.path().join(JOURNAL);
        let mut found = Vec::new();
        for entry in state.journal().entries().context(Operation::ReadJournal, &path)? {
            let name = entry.context(Operation::ReadJournal, &path)?.file_name();
            found.extend(Self::open(state, &name).context(Operation::ReadJournal, &path.join(&name))?);
        }
        Ok(found)
    }

    /// Opens a record; `None` if the file is gone or not a record, or if this process may not open it for
    /// writing.
    fn open(state: &StateDir, name: &OsString) -> io::Result<Option<Self>> {
        if name.to_str().is_none_or(|name| TemporaryId::parse(name).is_none()) {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).follow(FollowSymlinks::No);
        let file = match state.journal().open_with(name, &options) {
            Err(error) if is_not_ours(error.kind()) => return Ok(None),
            opened => opened?.into_std(),
        };
        let is_abandoned = match os::try_lock(&file) {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            // On a file system without locks, it is unknown whether the owner still runs, and a running owner
            // must not be disturbed.
            Err(TryLockError::Error(error)) if os::has_no_locks(&error) => false,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        let identity = os::identity_of(&file)?;
        if !os::identity_at(state.journal(), Path::new(name)).is_ok_and(|now| now.same_file(&identity)) {
            return Ok(None);
        }
        let contents = Contents::read(&read(&file)?, &Here);
        let (directory, path) = (state.journal().clone(), state.path().join(JOURNAL).join(name));
        Ok(Some(Self { directory, name: name.clone(), file, identity, path, contents, is_abandoned }))
    }
}

impl FoundRecord for FoundFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    fn is_there(&self) -> bool {
        os::identity_at(&self.directory, Path::new(&self.name)).is_ok_and(|now| now.same_file(&self.identity))
    }

    fn epoch(&self) -> u32 {
        0
    }

    fn take_over(&mut self) -> Result<bool, StoreError> {
        // This process took the record's lock when it found the record.
        Ok(self.is_abandoned)
    }

    fn prove(&self) -> Result<(), StoreError> {
        // The record belongs to this process as long as this process runs, because this process holds the
        // lock.
        Ok(())
    }

    fn remove(self: Box<Self>, sync: bool) -> bool {
        let is_gone = unlink_if(&self.directory, Path::new(&self.name), &self.identity);
        if sync {
            os::sync_directory(&self.directory).ok();
        }
        drop(self.file);
        is_gone
    }
}
