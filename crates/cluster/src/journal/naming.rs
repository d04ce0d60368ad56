//! Names for the files of a record. Every machine finds the files by them, under its own mounts:
//! [`Everywhere`].

use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::backend::Naming;

use crate::root_names::{RootNames, SharedPath};

/// A name is that of a root, U+0000, and the path from there on. A file that this machine cannot reach
/// gets a path that leads nowhere and into no root, so that its record is left to others.
pub(crate) struct Everywhere<'a>(pub(crate) &'a RootNames);

impl Everywhere<'_> {
    /// Returns a key that no other file has, and the file's name as people see it.
    pub(crate) fn key(&self, path: &Path) -> Option<(Vec<u8>, String)> {
        let shared = self.0.shared(path)?;
        Some((Digest::of(&shared.key()?).as_bytes().to_vec(), shared.to_string()))
    }
}

impl Naming for Everywhere<'_> {
    fn name(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.shared(path)?.key()
    }

    fn path(&self, name: Vec<u8>) -> Option<PathBuf> {
        let shared = SharedPath::of_key(&name)?;
        Some(self.0.local(&shared).unwrap_or_else(|| shared.to_string().into()))
    }
}
