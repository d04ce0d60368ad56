//! A filter for past edits: [`Filter`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::history::edit::EditId;

/// A filter for past edits, which must meet all of these conditions. By default all edits pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Edits of this file, or of files below this directory, by the paths that they had at the edit. With a
    /// separator at the end, only a directory is meant.
    pub path: Option<PathBuf>,
    /// Edits that were made at this time or later, to a millisecond.
    pub since: Option<SystemTime>,
    /// Edits that were made before this time, to a millisecond.
    pub until: Option<SystemTime>,
    /// Edits by this tool.
    pub tool: Option<String>,
    /// Edits by the client that calls itself by this name.
    pub client: Option<String>,
    /// Edits of this session.
    pub session: Option<String>,
    /// Edits whose diff contains this text, in the same letter case. The header of the diff counts, too; it
    /// has the file's path.
    pub text: Option<String>,
    /// Edits that were kept before this one, for the next page of a list. If this one is no longer kept, no
    /// edit passes.
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
