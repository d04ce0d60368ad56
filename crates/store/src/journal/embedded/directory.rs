//! The state directory as a [`Journal`].

use std::path::Path;

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

    fn is_shared(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn is_needed(&self) -> bool {
        false
    }

    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let found = FoundFile::all(self)?;
        Ok(found.into_iter().map(|found| Box::new(found) as Box<dyn FoundRecord>).collect())
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        Ok(Vec::new())
    }

    fn naming(&self, _: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        Ok(Vec::new())
    }
}
