//! Checks whether the files of past edits are in the roots.

use std::path::Path;

use crate::access::roots::PathError;
use crate::history::Entry;
use crate::workspace::Workspace;

/// Tells whether all files of an edit are in the roots: see [`is_path_in_roots`]. From a person, who is
/// served the roots of past edits, no edit is withheld.
#[must_use]
pub(crate) fn is_in_roots(workspace: &Workspace, entry: &Entry) -> bool {
    workspace.roots.are_past() || entry.files.iter().all(|file| is_path_in_roots(workspace, &file.path))
}

/// Tells whether a path is in the roots. Follows its symbolic links; if that fails, compares the text of the
/// paths.
pub(crate) fn is_path_in_roots(workspace: &Workspace, path: &Path) -> bool {
    match workspace.roots.place(path) {
        Ok(_) => true,
        Err(PathError::Outside { .. } | PathError::Unserved(_)) => false,
        Err(_) => workspace.roots.paths().any(|root| path.starts_with(root)),
    }
}
