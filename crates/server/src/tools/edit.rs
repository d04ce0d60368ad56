//! Edits files: defines the request of the editing tools (but not of `copy_text_lines`,
//! `replace_in_text_files` and `undo_text_file_edits`), and passes the edits to the store.

use std::path::Path;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::resolve::{GuardedRange, Patch, Position};
use mcp_text_editor_store::{Change, EditProblem, Edited, FileEdit, Reason};
use serde_json::{Map, Value};

use super::tool::{Tool, call, edit_reply, failure};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, Call, CalledFile};
use crate::tool_id::ToolId;

/// The request of an editing tool: the files, each with its change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditRequest {
    /// The files, in the order of the call. The same file can occur twice.
    pub files: Vec<FileRequest>,
    /// Whether to write nothing.
    pub dry_run: bool,
}

/// The request to change a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRequest {
    /// The path of the file, as the client wrote it.
    pub file_path: String,
    /// The label of the file's encoding.
    pub encoding: Option<String>,
    /// The digest that the file must have; `None` if the call gives none.
    pub file_hash: Option<DigestPrefix>,
    /// The change.
    pub change: FileChange,
}

/// The change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileChange {
    /// Create the file with this text, its line ends as the client wrote them.
    Create(String),
    /// Replace text in the file, by at least one patch.
    Patch(Vec<Patch>),
    /// Add these lines at the end of the file. Their line ends are `\n`, and the text is never empty.
    Append(String),
    /// Add these lines at this place. Their line ends are `\n`, and the text is never empty.
    Insert(String, Position),
    /// Delete these ranges of lines, at least one, each with its digest.
    Delete(Vec<GuardedRange>),
    /// Move the file, and replace text in it.
    Move {
        /// The new path, as the client wrote it.
        to: String,
        /// The replacements; none for a move alone.
        patches: Vec<Patch>,
    },
    /// Remove the file.
    Remove,
}

/// Runs a tool. `read` reads the request from the arguments.
pub(super) fn run(
    tool: &Tool,
    read: fn(&mut Fields<'_>) -> Option<EditRequest>,
    context: &Context,
    values: Map<String, Value>,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    let EditRequest { files, dry_run } = tool.parse(read, values, Notes::of(context))?;
    let edits = files.iter().map(|file| FileEdit {
        file_path: &file.file_path,
        encoding: file.encoding.as_deref(),
        file_hash: file.file_hash.as_ref(),
        change: match &file.change {
            FileChange::Create(contents) => Change::Create(contents),
            FileChange::Patch(patches) => Change::Patch(patches),
            FileChange::Append(contents) => Change::Append(contents),
            FileChange::Insert(contents, position) => Change::Insert(contents, *position),
            FileChange::Delete(ranges) => Change::Delete(ranges),
            FileChange::Move { to, patches } => Change::Move { to, patches },
            FileChange::Remove => Change::Remove,
        },
    });
    edit_files(context, tool.id, &edits.collect::<Vec<_>>(), dry_run, cancel)
}

/// Edits files in one call, or shows what the call would change.
pub(super) fn edit_files(
    context: &Context,
    tool: ToolId,
    edits: &[FileEdit<'_>],
    dry_run: bool,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    let is_cancelled = || cancel.is_cancelled();
    let shown = |path: &Path| context.shown.as_ref()?.get(path);
    let control = context.control(tool, &shown).cancelled_by(&is_cancelled);
    let workspace = &context.workspace;
    let done = if dry_run { workspace.plan(edits, control) } else { workspace.apply(edits, control) };
    let done = done.map_err(|error| {
        let many_files = match tool {
            ToolId::CopyLines => edits.iter().any(has_several_parts),
            _ => edits.len() > 1,
        };
        let ranges: Vec<Vec<&[GuardedRange]>> = edits.iter().map(ranges_of_patches).collect();
        let explained = |problem: &EditProblem| {
            let edit = edits.get(problem.entry);
            let file_path = match (edit.map(|edit| edit.change), &problem.reason) {
                (Some(Change::Move { to, .. }), Reason::OfTarget(_)) => to,
                _ => edit.map(|edit| edit.file_path).unwrap_or_default(),
            };
            let named = CalledFile {
                file_path,
                encoding: edit.and_then(|edit| edit.encoding),
                patches: ranges.get(problem.entry).map_or(&[], Vec::as_slice),
                change: edit.map(|edit| edit.change),
            };
            // A problem with creating, moving or removing a file is worded as for the tool that does only
            // that. A problem with the text of the file is worded as for the tool that was called.
            let like = match (named.change, &problem.reason) {
                (Some(Change::Create(_)), _) if tool != ToolId::CopyLines => ToolId::Create,
                (Some(Change::Remove), _) => ToolId::Remove,
                (Some(Change::Move { patches: [_, ..], .. }), Reason::Rejected { .. }) => tool,
                (Some(Change::Move { .. }), _) => ToolId::Move,
                _ => tool,
            };
            let call = call(context, like, many_files, cancel);
            let explained = explain::edit_problem(Call { is_entry: like != tool, ..call }, named, problem);
            record_shown(context, file_path, problem, &explained);
            explained
        };
        failure(context, tool, error.problems.iter().map(explained).collect())
    })?;
    if let (Some(shown), false) = (&context.shown, dry_run) {
        shown.record_edits(&done);
    }
    let name = |edited: &Edited| match edits.get(edited.entry) {
        Some(FileEdit { change: Change::Move { to, .. }, .. }) => *to,
        edit => edit.map(|edit| edit.file_path).unwrap_or_default(),
    };
    Ok(edit_reply(context, tool, &done, name, dry_run))
}

/// Records the lines of a file that an error shows.
fn record_shown(context: &Context, file_path: &str, problem: &EditProblem, explained: &Problem) {
    let excerpts: Vec<_> = explained.texts().collect();
    let Some(shown) = context.shown.as_ref().filter(|_| !excerpts.is_empty()) else { return };
    let Ok(path) = context.workspace.resolve_for_history(file_path) else { return };
    let Reason::Rejected { rejection, digest, .. } = &problem.reason else { return };
    let by_text = rejection.at().is_some_and(|at| at.range.is_none());
    shown.record_error(&path, *digest, &excerpts, by_text);
}

/// Tells whether an edit of `copy_text_lines` belongs to a copy other than the first of the call.
fn has_several_parts(edit: &FileEdit<'_>) -> bool {
    matches!(edit.change, Change::Rearrange(edits) if edits.iter().any(|edit| edit.at.patch > 0))
}

/// Returns the ranges that each patch of an edit names.
fn ranges_of_patches<'a>(edit: &FileEdit<'a>) -> Vec<&'a [GuardedRange]> {
    match edit.change {
        Change::Patch(patches) | Change::Move { patches, .. } => {
            patches.iter().map(|patch| patch.ranges.as_slice()).collect()
        }
        Change::Delete(ranges) => vec![ranges],
        _ => Vec::new(),
    }
}
