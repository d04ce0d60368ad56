//! Stands in for a shared state in a build without the feature `cluster`.

use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_store::WorkspaceBuilder;

use super::typed::{NotShared, TypedShared};

/// The options of a shared state, which this build never has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SharedOptions {}

/// A shared state, which this build never has.
pub enum SharedState {}

/// Refuses the options, and says how to get a build that knows them.
pub fn resolve(typed: TypedShared<'_>) -> Result<Option<SharedOptions>, String> {
    if typed.state_url.is_none_or(|url| url.is_empty()) && typed.root_names.iter().all(String::is_empty) {
        return Ok(None);
    }
    Err("--state-url and --root-name: this program was built without the database that machines share; the released one has it, and so has: cargo install --locked mcp-text-editor --features cluster".to_owned())
}

impl SharedOptions {
    /// Opens the shared state.
    pub fn open(&self) -> Result<SharedState, NotShared> {
        match *self {}
    }
}

impl SharedState {
    /// Makes a workspace use the shared state.
    pub fn share(&self, _: WorkspaceBuilder) -> WorkspaceBuilder {
        match *self {}
    }

    /// Says what is wrong with the database.
    pub fn examine(&self, _: &[PathBuf], _: &mut impl io::Write) -> io::Result<bool> {
        match *self {}
    }

    /// Says that a directory shows changes of other machines too late.
    #[must_use]
    pub fn late(&self, _: &Path) -> Option<(String, String)> {
        match *self {}
    }
}
