//! Nothing is found.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;

use crate::history::edit::{EditId, Undo};
use crate::history::entry::{Entry, Forgotten};
use crate::history::keep::History;
use crate::history::not_kept::NotKept;

impl History {
    /// No edits: this build keeps none.
    pub fn list(
        &self,
        _: Option<&Path>,
        _: usize,
        _: &dyn Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, NotKept> {
        Err(NotKept::Off)
    }

    /// No edit: this build keeps none.
    pub fn get(&self, _: &EditId) -> Result<Option<(Entry, Vec<Undo>)>, NotKept> {
        Err(NotKept::Off)
    }

    /// No edit: this build keeps none.
    pub fn later(&self, _: &EditId, _: &Path, _: Option<Digest>) -> Result<Option<Entry>, NotKept> {
        Err(NotKept::Off)
    }

    /// Nothing to forget: this build keeps nothing.
    pub fn forget(&self, _: Option<&Path>) -> Result<Forgotten, NotKept> {
        Err(NotKept::Off)
    }
}
