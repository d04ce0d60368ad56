//! Names for the files of a record, from which every machine finds the files under its own mounts:
//! [`Everywhere`].

use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::backend::Naming;

use crate::root_names::{RootNames, SharedPath};

/// Names a file by the name of its root, U+0000, and the path in the root. The name of a file that this
/// machine cannot reach becomes a path that does not exist and is in no root. As a result, the record of such
/// a file is left to other machines.
pub(crate) struct Everywhere<'a>(pub(crate) &'a RootNames);

impl Everywhere<'_> {
    /// Returns a unique key of the file, and the file's name for people; `None` if the file has no shared
    /// name.
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
