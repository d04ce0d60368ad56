//! Editing: [`Workspace::plan`] shows what would change, [`Workspace::apply`] changes it, in all files or in
//! none.

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::resolve::{GuardedRange, Patch, Position};

use crate::door::control::Control;
use crate::edit::{self, Edit, EditOptions, EditProblem, Outcome, Reason, edit};
use crate::workspace::Workspace;

/// The request for one file.
#[derive(Clone, Copy, Debug)]
pub struct FileEdit<'a> {
    /// Its absolute path, as the client named it.
    pub file_path: &'a str,
    /// The label of its encoding, in the client's word; `None`: its byte order mark decides, else UTF-8.
    pub encoding: Option<&'a str>,
    /// The digest that the client remembers; the edit is refused if the file has another.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The change.
    pub change: Change<'a>,
}

impl<'a> FileEdit<'a> {
    /// Makes an edit without a guard but what `change` holds, of a file whose encoding is not named.
    #[must_use]
    pub fn new(file_path: &'a str, change: Change<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, change }
    }
}

/// The change of a file. Texts have `\n` for line ends, and take those of the file; a CR in them is a
/// character like any other.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Change<'a> {
    /// Makes a file of exactly this text where none is when the call begins, or one that the call moves away
    /// or removes, and the directories above it that are missing.
    Create(&'a str),
    /// Replaces text. Entries that mean one file are one entry.
    Patch(&'a [Patch]),
    /// Adds lines at the end.
    Append(&'a str),
    /// Adds lines before or after one.
    Insert(&'a str, Position),
    /// Takes lines away.
    Delete(&'a [GuardedRange]),
    /// Gives the file another place, where nothing may be but a file that the call moves away or removes, and
    /// makes the directories above that are missing.
    Move {
        /// The absolute path.
        to: &'a str,
        /// The replacements in the file on the way; without any it may hold anything, and `encoding` is not
        /// asked for.
        patches: &'a [Patch],
    },
    /// Removes the file, which must be text, and have the digest `file_hash`.
    Remove,
}

/// The reasons why no file was changed; or, in the worst case, that some may have been.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{}", Reason::listed(problems.iter().map(|problem| &problem.reason)))]
pub struct EditError {
    /// Every reason that was found, at least one, in the order of the call's entries.
    pub problems: Vec<EditProblem>,
}

impl EditError {
    /// Tells whether anything on the disk is not what it was: a commit failed and could not be taken back
    /// wholly, or met another program's write. Each error of the store has in
    /// [`StoreError::left`](crate::StoreError::left) what is where.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        self.problems.iter().any(EditProblem::may_have_written)
    }
}

impl Workspace {
    /// Checks edits as [`Workspace::apply`] does and shows what they would change, as a unified diff for each
    /// file. Writes nothing.
    pub fn plan(&self, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<Outcome, EditError> {
        self.carry_out(edits, control, true)
    }

    /// Edits all files of a call, or none; every reason against it is found before it is refused.
    ///
    /// All refers to the files as they were before the call. Check and write are one step against every
    /// process that edits through a workspace; a lost race starts again, five times at most. A lock that
    /// another holds for 10 s is [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy).
    pub fn apply(&self, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<Outcome, EditError> {
        self.carry_out(edits, control, false)
    }

    /// Returns how a call is carried out that a client asks for.
    pub(super) fn options<'a>(&self, control: Control<'a>, dry_run: bool) -> EditOptions<'a> {
        let Control { by, cancellation } = control;
        EditOptions { by, undoes: None, matching: self.matching, dry_run, cancellation }
    }

    fn carry_out(
        &self,
        edits: &[FileEdit<'_>],
        control: Control<'_>,
        dry_run: bool,
    ) -> Result<Outcome, EditError> {
        let edits: Vec<Edit<'_>> = edits.iter().map(asked).collect();
        edit(self, &edits, self.options(control, dry_run)).map_err(|problems| EditError { problems })
    }
}

/// Returns what is asked of a file, as a call is carried out.
fn asked<'a>(asked: &FileEdit<'a>) -> Edit<'a> {
    let FileEdit { file_path, encoding, file_hash, change } = *asked;
    let (mut move_to, directories) = (None, &[][..]);
    let change = match change {
        Change::Create(contents) => edit::EditChange::Create(contents),
        Change::Patch(patches) => edit::EditChange::Patch(patches),
        Change::Append(contents) => edit::EditChange::Append(contents),
        Change::Insert(contents, position) => edit::EditChange::Insert(contents, position),
        Change::Delete(ranges) => edit::EditChange::Delete(ranges),
        Change::Move { to, patches } => {
            move_to = Some(to);
            if patches.is_empty() {
                edit::EditChange::Keep { after: None }
            } else {
                edit::EditChange::Patch(patches)
            }
        }
        Change::Remove => edit::EditChange::Remove,
    };
    Edit { file_path, encoding, file_hash, move_to, directories, change }
}
