//! The history that a page shows: [`Past`].

use std::sync::Mutex;

use mcp_text_editor_store::{EditFilter, Entry, Workspace};

use tokio::sync::{Mutex as FairMutex, MutexGuard};

use super::makers::Makers;
use crate::problem::Problem;

/// The reason why a question is not answered.
pub type BoxedProblem = Box<Problem>;

/// The history that a person looks at. Requests have turns: a long one lets the others pass after each edit.
#[derive(Debug)]
pub struct Past {
    /// The request that has waited longest is next.
    workspace: FairMutex<Workspace>,
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
        Self { workspace: FairMutex::new(workspace), scope, makers: Mutex::default(), is_read_only, notes }
    }

    /// Tells whether an edit can be taken back by this program, on this machine.
    pub(super) fn can_undo(&self, entry: &Entry) -> bool {
        !self.is_read_only && entry.files.iter().all(|file| file.root.is_none())
    }

    /// Waits for a turn. Must not be called by a thread of a runtime. The holder must not expect that files
    /// are served which it has not itself had served since.
    pub(super) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.blocking_lock()
    }
}
