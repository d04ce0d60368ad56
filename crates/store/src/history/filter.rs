//! Defines a filter for past edits: [`Filter`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::history::edit::EditId;

/// Conditions that a past edit must meet to pass. By default there are no conditions, and all edits pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Only edits of this file, or of files below this directory, by the paths at the time of the edit. A
    /// path that ends with a separator names only a directory.
    pub path: Option<PathBuf>,
    /// Only edits that were made at this time or later, with a precision of a millisecond.
    pub since: Option<SystemTime>,
    /// Only edits that were made before this time, with a precision of a millisecond.
    pub until: Option<SystemTime>,
    /// Only edits by this tool.
    pub tool: Option<String>,
    /// Only edits by the client that gives itself this name.
    pub client: Option<String>,
    /// Only edits of this session.
    pub session: Option<String>,
    /// Only edits whose diff contains this text, in the same letter case. The diff includes its header, which
    /// has the file's path.
    pub text: Option<String>,
    /// Only edits that were kept before the edit with this id, for the next page of a list. If that edit is
    /// no longer kept, no edit passes.
    pub before: Option<EditId>,
}

impl Filter {
    /// Returns a filter for all edits or, with a path, for edits of this file or of files below this
    /// directory.
    #[must_use]
    pub fn of_path(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }
}
