//! The choice of past edits: [`Filter`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::history::edit::EditId;

/// The choice of past edits: those that meet all of these conditions. The default lets all pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Edits of this file, or of files below this directory, by the names that they had then. A separator at
    /// the end asks for a directory.
    pub path: Option<PathBuf>,
    /// Edits that were made at this time or later, to a millisecond.
    pub since: Option<SystemTime>,
    /// Edits that were made before this time, to a millisecond.
    pub until: Option<SystemTime>,
    /// Edits by this tool.
    pub tool: Option<String>,
    /// Edits by this client, by the name that it gives itself.
    pub client: Option<String>,
    /// Edits of this session.
    pub session: Option<String>,
    /// Edits whose diff has this text, in the same letter case. The head of a diff, which has the file's
    /// path, counts.
    pub text: Option<String>,
    /// Edits that were kept before this one, for the next page of a list. None pass if this one is no longer
    /// kept.
    pub before: Option<EditId>,
}

impl Filter {
    /// Returns a filter for all edits or, with a path, for those of this file or of files below this
    /// directory.
    #[must_use]
    pub fn of_path(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }
}
