//! The choice of past edits: [`Filter`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::history::edit::EditId;

/// The choice of past edits: those that all of it is true of. The default one lets all pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Edits of this file, or of files below this directory, named as they were then; a separator at the end
    /// asks for a directory.
    pub path: Option<PathBuf>,
    /// Edits that were made then or later, to a millisecond.
    pub since: Option<SystemTime>,
    /// Edits that were made before, to a millisecond.
    pub until: Option<SystemTime>,
    /// Edits by this tool.
    pub tool: Option<String>,
    /// Edits by this client, by the name that it gives itself.
    pub client: Option<String>,
    /// Edits of this session.
    pub session: Option<String>,
    /// Edits in the diff of which this text stands, letter case and all. The head of a diff, which has the
    /// file's path, is a part of it.
    pub text: Option<String>,
    /// Edits that were kept before this one, for the next page of a list. None pass if it is not kept any
    /// more.
    pub before: Option<EditId>,
}

impl Filter {
    /// Returns all edits; with a path those of this file, or of files below this directory.
    #[must_use]
    pub fn of_path(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }
}
