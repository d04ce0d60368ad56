//! The old content of a file that is replaced where names cannot be exchanged: [`Aside`].

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use mcp_text_editor_core::source::Source as _;

use crate::commit::staged::Replacement;
use crate::error::StoreError;
use crate::os::directory::Dir;
use crate::os::names::hard_link;
use crate::stage::temporary::{Temporary, unlink};

/// A second name for the old file or, where there are no hard links, a copy of it. Unlinked when dropped.
#[derive(Debug)]
pub(super) enum Aside {
    SecondName(SecondName),
    Copy(Temporary),
}

/// A second name of the old file. It was drawn at random and link(2) refuses names that are taken, so it is
/// ours and is unlinked without a further check. Its inode number could not be checked: on sshfs, mergerfs
/// and unionfs each name has its own.
#[derive(Debug)]
pub(super) struct SecondName {
    is_kept: bool,
    directory: Arc<Dir>,
    name: OsString,
}

impl SecondName {
    /// Unlinks the name; returns whether it is gone.
    fn unlink(&self) -> bool {
        unlink(&self.directory, Path::new(&self.name))
    }
}

impl Drop for SecondName {
    fn drop(&mut self) {
        if !self.is_kept {
            self.unlink();
        }
    }
}

impl Aside {
    pub(super) fn of(staged: &Replacement) -> Result<Self, StoreError> {
        let place = &staged.place;
        let old = staged.locked.file();
        let name = staged.content.temporary.id().name_of_old();
        if hard_link(&place.directory, place.name(), &name).is_ok() {
            return Ok(Self::SecondName(SecondName {
                is_kept: false,
                directory: place.directory.clone(),
                name,
            }));
        }
        let size = old.size();
        let mut copy = Temporary::create_for_old(place, staged.content.temporary.id(), size, None)?;
        // An error is ignored, for the reason given below for the metadata.
        let _ = copy.keep_flags(old);
        copy.copy_range(old, 0..old.size())?;
        // If the copy cannot be given something, the new file could not be given it either, and the call
        // reports that.
        let _ = copy.keep_metadata(old)?;
        // If the new content is on disk after a power cut, the old must be, too.
        copy.sync()?;
        copy.sync_directory()?;
        Ok(Self::Copy(copy))
    }

    pub(super) fn remove(self) -> bool {
        match self {
            Self::SecondName(mut link) => {
                link.is_kept = true;
                link.unlink()
            }
            Self::Copy(copy) => copy.remove(),
        }
    }

    pub(super) fn leave(self) {
        match self {
            Self::SecondName(mut link) => link.is_kept = true,
            Self::Copy(copy) => copy.leave(),
        }
    }

    pub(super) fn name(&self) -> &Path {
        match self {
            Self::SecondName(link) => Path::new(&link.name),
            Self::Copy(copy) => copy.name(),
        }
    }
}
