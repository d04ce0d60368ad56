//! Implements [`Journal`] with the state directory.

use crate::error::StoreError;
use crate::journal::contents::Subject;
use crate::journal::embedded::found::FoundFile;
use crate::journal::embedded::record::FileRecord;
use crate::journal::interface::{FoundRecord, Journal, Record};
use crate::state_dir::StateDir;

impl Journal for StateDir {
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError> {
        Ok(Box::new(FileRecord::begin(self, subjects)?))
    }

    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let records = FoundFile::all(self)?;
        Ok(records.into_iter().map(|record| Box::new(record) as Box<dyn FoundRecord>).collect())
    }
}
