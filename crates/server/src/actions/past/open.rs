//! The history that a page shows: [`Past`].

use std::sync::Mutex;

use mcp_text_editor_store::{EditFilter, Entry, Workspace};

use tokio::sync::{Mutex as FairMutex, MutexGuard};

use super::makers::Makers;
use crate::problem::Problem;

/// The reason why a request is not carried out.
pub type BoxedProblem = Box<Problem>;

/// The history that a person looks at. Requests take turns: a long one releases the workspace after each
/// edit.
#[derive(Debug)]
pub struct Past {
    /// Fair: the request that has waited longest is next.
    workspace: FairMutex<Workspace>,
    /// The filter of every list, in addition to that of a request.
    pub(super) scope: EditFilter,
    pub(super) makers: Mutex<Makers>,
    pub(super) is_read_only: bool,
    /// The notes for the person, which each list carries.
    pub(super) notes: Vec<String>,
}

impl Past {
    /// Opens the history of a workspace, which serves no file yet. Lists have only edits that pass `scope`,
    /// and carry `notes` for the person. If the workspace is read-only, no edit can be taken back.
    #[must_use]
    pub fn new(workspace: Workspace, scope: EditFilter, notes: Vec<String>) -> Self {
        let is_read_only = workspace.is_read_only();
        Self { workspace: FairMutex::new(workspace), scope, makers: Mutex::default(), is_read_only, notes }
    }

    /// Tells whether an edit can be taken back by this program, on this machine.
    pub(super) fn can_undo(&self, entry: &Entry) -> bool {
        !self.is_read_only && entry.files.iter().all(|file| file.root.is_none())
    }

    /// Waits for the workspace. Must not be called on a thread of the async runtime. Other requests change
    /// the files that the workspace serves, so the caller must call [`Workspace::serve_files_of`] anew.
    pub(super) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.blocking_lock()
    }
}
