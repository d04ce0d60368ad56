//! Edits files: [`Workspace::plan`] shows the changes, and [`Workspace::apply`] makes them, in all files or
//! in none.
//!
//! Defines the context of a call, such as its caller and its cancellation: [`Control`].

use std::path::Path;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::resolve::{GuardedRange, LineEdit, Patch, Position};
use mcp_text_editor_core::shown_lines::ShownLines;

use crate::cancellation::Cancellation;
use crate::edit::{self, Edit, EditOptions, EditProblem, Memory, Outcome, Reason, edit};
use crate::history::Caller;
use crate::workspace::Workspace;

/// The request for one file.
#[derive(Clone, Copy, Debug)]
pub struct FileEdit<'a> {
    /// The file's absolute path, as the client wrote it.
    pub file_path: &'a str,
    /// The label (name) of the file's encoding, as the client wrote it. With `None`, the file's byte order
    /// mark decides; a file without such a mark is read as UTF-8.
    pub encoding: Option<&'a str>,
    /// The digest that the client remembers. The edit is refused if the file has another digest.
    pub file_hash: Option<&'a DigestPrefix>,
    /// The change.
    pub change: Change<'a>,
}

impl<'a> FileEdit<'a> {
    /// Returns a request without encoding and without digest: only the guards in `change` apply.
    #[must_use]
    pub fn new(file_path: &'a str, change: Change<'a>) -> Self {
        Self { file_path, encoding: None, file_hash: None, change }
    }
}

/// The change of a file. Line ends in texts are `\n`, and become the line ends of the file. A CR in a text is
/// an ordinary character.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Change<'a> {
    /// Creates a file with exactly this text, and the missing directories above it. There must be no file of
    /// that name, except a file that the call moves away or removes.
    Create(&'a str),
    /// Replaces text. Several requests for one file are treated as one.
    Patch(&'a [Patch]),
    /// Adds lines at the end of the file.
    Append(&'a str),
    /// Adds lines before or after a line.
    Insert(&'a str, Position),
    /// Deletes lines.
    Delete(&'a [GuardedRange]),
    /// Moves, copies, removes and adds whole lines.
    Rearrange(&'a [LineEdit<'a>]),
    /// Moves the file to another path, and creates the missing directories above it. Nothing may be at that
    /// path, except a file that the call moves away or removes.
    Move {
        /// The new absolute path.
        to: &'a str,
        /// Replacements that are made in the file at the same time. If there are none, the file need not be
        /// text, and `encoding` is ignored.
        patches: &'a [Patch],
    },
    /// Removes the file, which must be text and have the digest `file_hash`.
    Remove,
}

/// The reasons why a call failed. Normally no file was changed; in rare cases some may have been: see
/// [`EditError::may_have_written`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{}", Reason::listed(problems.iter().map(|problem| &problem.reason)))]
pub struct EditError {
    /// Every reason that was found, at least one, in the order of the requests in the call.
    pub problems: Vec<EditProblem>,
}

impl EditError {
    /// Tells whether anything on disk may differ from before: a commit failed and could not be rolled back
    /// completely, or collided with another program's write. [`StoreError::left`](crate::StoreError::left) of
    /// each error then lists the files that are left and their paths.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        self.problems.iter().any(EditProblem::may_have_written)
    }
}

impl Workspace {
    /// Checks edits as [`Workspace::apply`] does, and returns the changes that they would make, as a unified
    /// diff per file. Writes nothing.
    pub fn plan(&self, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<Outcome, EditError> {
        self.carry_out(edits, control, true)
    }

    /// Edits all files of a call, or none. The error has every reason against the call.
    ///
    /// The whole request refers to the files as they were before the call. Check and write are atomic with
    /// respect to all other processes that edit through a workspace. If another program changes a file first,
    /// the call starts again; it makes at most five attempts. If another call holds a lock for 10 s, the
    /// error is [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy).
    pub fn apply(&self, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<Outcome, EditError> {
        self.carry_out(edits, control, false)
    }

    /// Returns the options for a client's call.
    pub(super) fn options<'a>(&self, control: Control<'a>, dry_run: bool) -> EditOptions<'a> {
        let Control { by, cancellation, compared, shown } = control;
        EditOptions {
            by,
            undoes: None,
            remember: None,
            matching: self.matching,
            dry_run,
            shows_diff: false,
            compared,
            shown,
            expected: None,
            replaced: 0,
            progress: None,
            cancellation,
        }
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

/// Converts the public request for a file to the internal request.
fn asked<'a>(asked: &FileEdit<'a>) -> Edit<'a> {
    let FileEdit { file_path, encoding, file_hash, change } = *asked;
    let (mut move_to, directories) = (None, &[][..]);
    let change = match change {
        Change::Create(contents) => edit::EditChange::Create(contents),
        Change::Patch(patches) => edit::EditChange::Patch(patches),
        Change::Append(contents) => edit::EditChange::Append(contents),
        Change::Insert(contents, position) => edit::EditChange::Insert(contents, position),
        Change::Delete(ranges) => edit::EditChange::Delete(ranges),
        Change::Rearrange(edits) => edit::EditChange::Rearrange(edits),
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

/// The maximum number of characters that are kept of a client's name, and of a session's name.
const LONGEST: usize = 60;

/// The context of a call: its caller, its cancellation, whether an edit returns its changes as data, and the
/// lines that the client was shown. [`Control::default`] is anonymous, cannot be cancelled, requests no data,
/// and knows no lines.
#[derive(Clone, Copy, Default, Debug)]
pub struct Control<'a> {
    pub(crate) by: Caller<'a>,
    pub(crate) cancellation: Cancellation<'a>,
    pub(crate) compared: Option<usize>,
    pub(crate) shown: Option<Memory<'a>>,
}

impl<'a> Control<'a> {
    /// Returns a control for a call that the history lists under `origin`, the name of a tool or a program.
    #[must_use]
    pub fn of(origin: &'a str) -> Self {
        let by = Caller { tool: origin, ..Caller::default() };
        Self { by, ..Self::default() }
    }

    /// Adds the names of the client and the session to the control. Only the first 60 characters of each name
    /// are kept. An empty name counts as no name.
    #[must_use]
    pub fn on_behalf_of(self, client: Option<&'a str>, session: Option<&'a str>) -> Self {
        let by = Caller { client: bounded(client), session: bounded(session), ..self.by };
        Self { by, ..self }
    }

    /// Makes an edit with this control also return the changes in each file as data
    /// ([`Edited::comparison`](crate::Edited::comparison)), with at most `most` bytes of text.
    #[must_use]
    pub fn comparing(self, most: usize) -> Self {
        Self { compared: Some(most), ..self }
    }

    /// Adds to the control the lines that the client was shown: `shown` returns these lines, given a file's
    /// real path. An edit then returns the lines that the client knows afterwards
    /// ([`Edited::shown`](crate::Edited::shown)), and the changes that other programs have made since. An
    /// edit that names a part of a line by its text alone, without a digest, is refused if another program
    /// has changed the line since it was shown.
    #[must_use]
    pub fn remembering(self, shown: &'a dyn Fn(&Path) -> Option<ShownLines>) -> Self {
        Self { shown: Some(Memory(shown)), ..self }
    }

    /// Makes a call with this control stop soon after `is_cancelled` returns `true`. `is_cancelled` is called
    /// often: between the blocks of a file, before each pause, and for the last time just before the first
    /// file is exchanged. A call that was cancelled has changed nothing.
    #[must_use]
    pub fn cancelled_by(self, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self { cancellation: Cancellation::when(is_cancelled), ..self }
    }
}

fn bounded(name: Option<&str>) -> Option<&str> {
    let name = name.filter(|name| !name.is_empty())?;
    let end = name.char_indices().nth(LONGEST).map_or(name.len(), |(end, _)| end);
    name.get(..end)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::{LeftBehind, Operation, Remains, StoreError, StoreErrorKind};

    #[test]
    fn a_refusal_tells_whether_anything_is_left_behind() {
        let path = Path::new("/a");
        let refused = || Reason::Store(StoreError::new(Operation::Move, path, StoreErrorKind::Io));
        let left = || {
            let error = StoreError::new(Operation::Move, path, StoreErrorKind::Io);
            Reason::Store(error.leaving([LeftBehind::new(path, Remains::Made)]))
        };
        for (reasons, expected) in [
            (vec![refused()], false),
            (vec![refused(), Reason::UnknownEncoding], false),
            (vec![refused(), left()], true),
            (vec![Reason::OfTarget(Box::new(left()))], true),
            (vec![Reason::OfTarget(Box::new(refused()))], false),
        ] {
            let problems = reasons.into_iter().enumerate();
            let problems = problems.map(|(entry, reason)| EditProblem { entry, reason }).collect();
            let error = EditError { problems };
            assert_eq!(error.may_have_written(), expected, "{error}");
        }
    }

    #[test]
    fn a_control_is_shown_without_asking_whether_it_is_cancelled() {
        let is_cancelled = || panic!("it was asked");
        let shown = format!("{:?}", Control::of("a tool").cancelled_by(&is_cancelled));
        assert!(
            shown.contains("tool: \"a tool\"") && shown.contains("cancellation: Cancellation"),
            "{shown}"
        );
    }
}
