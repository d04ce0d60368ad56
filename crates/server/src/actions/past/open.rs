//! The history that is looked at: [`Past`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_store::{EditFilter, Entry, Workspace};

use super::makers::Makers;
use crate::problem::Problem;

/// The reason why a question is not answered.
pub type BoxedProblem = Box<Problem>;

/// The history that a person looks at. Questions wait for one another.
#[derive(Debug)]
pub struct Past {
    workspace: Mutex<Workspace>,
    /// The edits that are listed at all, whatever is asked for.
    pub(super) scope: EditFilter,
    pub(super) makers: Mutex<Makers>,
    pub(super) is_read_only: bool,
    /// The notes for a person who sees the list.
    pub(super) notes: Vec<String>,
}

impl Past {
    /// Looks at the history of a workspace, which serves no file yet: of it, at the edits that pass `scope`.
    /// With a list a person is told `notes`, too. In a workspace that is read-only nothing is taken back.
    #[must_use]
    pub fn new(workspace: Workspace, scope: EditFilter, notes: Vec<String>) -> Self {
        let is_read_only = workspace.is_read_only();
        Self { workspace: Mutex::new(workspace), scope, makers: Mutex::default(), is_read_only, notes }
    }

    /// Tells whether an edit can be taken back by this program, on this machine.
    pub(super) fn can_undo(&self, entry: &Entry) -> bool {
        !self.is_read_only && entry.files.iter().all(|file| file.root.is_none())
    }

    pub(super) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        // Which files it serves is said anew by whoever works with files.
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
