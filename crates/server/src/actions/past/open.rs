//! The history that a page shows: [`Past`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_store::{EditFilter, Entry, Workspace};

use super::makers::Makers;
use crate::problem::Problem;

/// The reason why a question is not answered.
pub type BoxedProblem = Box<Problem>;

/// The history that a person looks at. It answers one request at a time.
#[derive(Debug)]
pub struct Past {
    workspace: Mutex<Workspace>,
    /// The filter that holds for every list, whatever is asked for.
    pub(super) scope: EditFilter,
    pub(super) makers: Mutex<Makers>,
    pub(super) is_read_only: bool,
    /// The notes for a person who sees the list.
    pub(super) notes: Vec<String>,
}

impl Past {
    /// Opens the history of a workspace, which serves no file yet. Only edits that pass `scope` are listed.
    /// Each list carries `notes` for the person. If the workspace is read-only, nothing is taken back.
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
        // A panic of another request does no harm: each request that works with files sets anew which ones
        // are served.
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
