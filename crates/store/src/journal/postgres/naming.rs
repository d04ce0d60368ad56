//! Names of files in records by which each machine finds the files, wherever it has mounted them:
//! [`Everywhere`].

use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use crate::journal::contents::{Naming, escaped_bytes, unescaped};
use crate::os;
use crate::root_names::{RootName, RootNames, SharedPath};

/// A word is the name of a root, U+0000, and the path from there on. A file that this machine cannot reach
/// gets a path that leads nowhere and into no root, so that its record is left to others.
pub(super) struct Everywhere<'a>(pub(super) &'a RootNames);

impl Everywhere<'_> {
    /// Returns a key that no other file has, and the file's name as people see it.
    pub(super) fn key(&self, path: &Path) -> Option<(Vec<u8>, String)> {
        let shared = self.0.shared(path)?;
        Some((Digest::of(&shared.key()?).as_bytes().to_vec(), shared.to_string()))
    }
}

impl Naming for Everywhere<'_> {
    fn word(&self, path: &Path) -> Option<String> {
        Some(escaped_bytes(&self.0.shared(path)?.key()?))
    }

    fn path(&self, word: &str) -> Option<PathBuf> {
        let bytes = unescaped(word)?;
        let at = bytes.iter().position(|byte| *byte == 0)?;
        let (root, relative) = (bytes.get(..at)?, bytes.get(at + 1..)?);
        let root = RootName::kept(String::from_utf8(root.to_vec()).ok()?);
        let shared = SharedPath { root, relative: os::path_of(relative.to_vec())? };
        Some(self.0.local(&shared).unwrap_or_else(|| shared.to_string().into()))
    }
}
