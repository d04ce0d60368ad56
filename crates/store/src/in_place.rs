//! New content written over the old, where a rename would be wrong: a file of several names (hard links) must stay one
//! file. Not safe against a crash in the middle; against an error it is, by a copy of the old bytes.

use std::fs::File;
use std::io::{self, Write as _};

use mcp_text_editor_core::source::{Source as _, for_each_chunk};

use crate::error::{Context as _, Operation, StoreError, StoreErrorKind};
use crate::lock::LockedFile;
use crate::place::{OpenFile, Place};
use crate::platform;
use crate::replace::Temporary;

/// A file that is to be overwritten, and what with.
#[derive(Debug)]
pub struct Overwrite {
    /// Where.
    pub place: Place,
    /// The complete new content.
    pub temporary: Temporary,
    /// The old file, with the identity that it had before it was read.
    pub locked: LockedFile,
}

/// Whether a file has more than one name.
#[must_use]
pub fn has_several_names(file: &OpenFile) -> bool {
    platform::links_of(file.metadata()) > 1
}

/// Overwrites a file. If that fails it has its old bytes again, unless that fails, too: then the error says so.
pub fn overwrite(file: &Overwrite) -> Result<(), StoreError> {
    let Overwrite { place, temporary, locked } = file;
    let old = locked.file();
    let target = place.open_file(true)?;
    if !target.identity().same_content(old.identity()) {
        return Err(StoreError::new(Operation::Replace, place.path(), StoreErrorKind::Changed));
    }
    let mut copy = Temporary::create(place)?;
    copy.copy_range(old, 0..old.size())?;
    copy.flush().context(Operation::WriteTemporary, place.path())?;
    let Err(error) = write_over(&temporary.view()?, target.file()) else { return Ok(()) };
    let error = StoreError::from_io(Operation::Replace, place.path(), error);
    if write_over(&copy.view()?, target.file()).is_ok() {
        return Err(error);
    }
    let kind = StoreErrorKind::NotRestored { paths: vec![place.path().to_owned()] };
    Err(StoreError { kind, operation: Operation::Restore, ..error })
}

fn write_over(from: &OpenFile, to: &File) -> io::Result<()> {
    let mut written = Ok(());
    for_each_chunk(from, 0..from.size(), |offset, bytes| {
        written = platform::write_all_at(to, bytes, offset);
        written.is_ok()
    })?;
    written?;
    to.set_len(from.size())?;
    to.sync_all()
}
