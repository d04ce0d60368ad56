//! New content written over the old, where a rename would be wrong: a file of several names (hard links) must stay one
//! file. Not safe against a crash in the middle; against an error it is, by a copy of the old bytes.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use mcp_text_editor_core::source::{Source as _, for_each_chunk};

use crate::error::{Operation, StoreError, StoreErrorKind};
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

/// Overwrites all files. If one fails, all have their old bytes again, unless that fails, too: then the error says so.
pub fn overwrite(files: &[Overwrite]) -> Result<(), StoreError> {
    let targets = files.iter().map(Target::prepare).collect::<Result<Vec<_>, _>>()?;
    for (done, (file, target)) in files.iter().zip(&targets).enumerate() {
        let context = |error| StoreError::from_io(Operation::Replace, file.place.path(), error);
        let written =
            file.temporary.view().and_then(|new| write_over(&new, target.file.file()).map_err(context));
        let Err(error) = written else { continue };
        let spoiled: Vec<PathBuf> =
            targets.iter().take(done + 1).filter(|target| !target.restore()).map(Target::path).collect();
        if spoiled.is_empty() {
            return Err(error);
        }
        let kind = StoreErrorKind::NotRestored { paths: spoiled };
        return Err(StoreError { kind, operation: Operation::Restore, ..error });
    }
    Ok(())
}

/// A file open for writing, and a copy of its old bytes.
struct Target {
    file: OpenFile,
    copy: Temporary,
}

impl Target {
    fn prepare(file: &Overwrite) -> Result<Self, StoreError> {
        let old = file.locked.file();
        let target = file.place.open_file(true)?;
        if !target.identity().same_content(old.identity()) {
            return Err(StoreError::new(Operation::Replace, file.place.path(), StoreErrorKind::Changed));
        }
        let mut copy = Temporary::create(&file.place)?;
        copy.copy_range(old, 0..old.size())?;
        Ok(Self { file: target, copy })
    }

    fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    fn restore(&self) -> bool {
        self.copy.view().is_ok_and(|old| write_over(&old, self.file.file()).is_ok())
    }
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
