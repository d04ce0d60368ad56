//! The work on one file of a call, and what has been made ready: [`Task`].

use mcp_text_editor_core::digest::Digest;

use crate::commit::publish_new::Creation;
use crate::commit::staged::{Arrival, NewContent};
use crate::commit::transaction::Transaction;
use crate::edit::group::Group;
use crate::edit::outcome::Edited;
use crate::edit::request::Options;
use crate::history::{FileEdit, NotKept};
use crate::workspace::Workspace;

/// One file of a call, as far as it is prepared.
pub(super) struct Prepared {
    pub(super) edited: Edited,
    /// What is ready to be put in place, and what the history is to keep, or why nothing; `None` if the file stays as it is.
    pub(super) written: Option<(Ready, Result<Vec<FileEdit>, NotKept>)>,
}

impl Prepared {
    /// A file of which nothing is written.
    pub(super) fn told(edited: Edited) -> Self {
        Self { edited, written: None }
    }
}

/// What is ready to be put in place.
pub(super) enum Ready {
    /// Other content.
    Replaced(NewContent),
    /// A new file.
    Created { creation: Creation, digest: Digest },
    /// A file that goes.
    Removed { digest: Digest, is_settled: bool },
    /// A file that gets another place.
    Moved { digest: Digest, is_settled: bool, to: Arrival },
    /// A file of which a new one, which holds `digest`, is at another place, and that goes.
    Copied { creation: Creation, digest: Digest, old: Digest, is_settled: bool },
}

/// The work on one file of a call.
pub(super) struct Task<'t, 'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) group: &'t Group<'t>,
    pub(super) options: Options<'t>,
    pub(super) staging: &'t mut Staging<'w>,
    /// All files of the call.
    pub(super) groups: &'t [Group<'t>],
    /// Whether nothing stands against the call so far.
    pub(super) may_write: bool,
}

impl Task<'_, '_> {
    /// Whether anything is to be written: then the record is begun, if it is not.
    pub(super) fn begin(&mut self) -> bool {
        let writes = self.may_write && !self.options.dry_run;
        if writes && self.staging.transaction.is_none() {
            let subjects = self.groups.iter().flat_map(Group::subjects).collect();
            self.staging.transaction = Some(Transaction::begin(self.workspace, subjects));
        }
        writes
    }

    /// Whether the history may keep so many bytes more of this call, which are taken then.
    pub(super) fn keeps(&mut self, bytes: u64) -> bool {
        let rest = self.staging.room.checked_sub(bytes);
        self.staging.room = rest.unwrap_or(self.staging.room);
        rest.is_some()
    }
}

/// The files of a call in the making.
pub(super) struct Staging<'w> {
    pub(super) prepared: Vec<Prepared>,
    /// Begun when the first file is to be written.
    pub(super) transaction: Option<Transaction<'w>>,
    /// How much the history may still keep of the call.
    room: u64,
}

impl Staging<'_> {
    pub(super) fn new(workspace: &Workspace) -> Self {
        Self { prepared: Vec::new(), transaction: None, room: workspace.max_kept_bytes }
    }
}
