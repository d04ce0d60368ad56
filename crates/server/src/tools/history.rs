//! `list_text_file_edits` and `undo_text_file_edits`: list past edits and undo one, for models. For people,
//! `cli::history` does the same on the command line.

use std::path::{Path, PathBuf};

use mcp_text_editor_store::{Cancellation, EditFilter, EditId, Edited, UndoError};
use serde_json::{Map, Value, json};

use super::tool::{Tool, call, cancelled, edit_reply, failure, json_reply};
use crate::arguments::vocabulary::{DRY_RUN, EDIT_ID, FILE_PATH, LIMIT};
use crate::arguments::{Fields, Notes, Object};
use crate::config::Output;
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::{explain, history as words};
use crate::tool_id::ToolId;

/// `list_text_file_edits`: lists the edits that were made through this server.
pub const EDITS: Tool = Tool {
    id: ToolId::Edits,
    title: "List past edits",
    description: "List the edits that were made through this server, the newest first: each with its edit_id, when and by \
        which tool it was made, and its files. With file_path only those of that file, or of files below that directory.",
    search_hint: Some("history changes"),
    if_offered: &[(
        ToolId::Undo,
        "undo_text_file_edits takes an edit back by its edit_id; with dry_run it shows what that would change.",
    )],
    destructive: false,
    idempotent: true,
    arguments: Object(&[
        FILE_PATH.says("Absolute path of a file or directory. Default: all that may be edited."),
        LIMIT,
    ]),
    run: list,
};

/// The default maximum number of listed edits.
const DEFAULT_EDITS: u64 = 20;
/// The maximum number of edits that a call can list.
const MAX: u64 = 1_000;

/// The request for a list of edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditsRequest {
    /// The file whose edits to list, or a directory that contains such files; `None` for all edits.
    pub file_path: Option<String>,
    /// The maximum number of edits to list.
    pub limit: u64,
}

/// Reads the request for a list of edits.
pub fn edits_request(fields: &mut Fields<'_>) -> Option<EditsRequest> {
    let file_path = fields.text(FILE_PATH);
    let limit = fields.number(LIMIT).unwrap_or(DEFAULT_EDITS).min(MAX);
    Some(EditsRequest { file_path, limit })
}

/// Lists the past edits whose files all lie in the roots (the directories that the server serves).
fn list(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = EDITS.parse(edits_request, values, Notes::of(context))?;
    let tool = ToolId::Edits;
    let fail = |problem| failure(context, tool, vec![problem]);
    let path = request.file_path.as_deref().map(|path| listed_path(context, path)).transpose();
    let path = path.map_err(|problems| failure(context, tool, problems))?;
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let workspace = &context.workspace;
    let is_cancelled = || cancel.is_cancelled();
    // One edit more than the limit is requested, to learn whether there are more edits.
    let found = workspace.find_edits(
        &EditFilter::of_path(path.as_deref()),
        limit.saturating_add(1),
        Cancellation::when(&is_cancelled),
    );
    let mut entries =
        found.map_err(|reason| fail(words::unreadable(workspace.state_directory(), &reason)))?;
    if cancel.is_withdrawn() {
        return Err(cancelled(context, tool));
    }
    let mut truncated = entries.len() > limit || cancel.is_cancelled();
    entries.truncate(limit);
    Ok(match context.config.output {
        Output::Text => {
            let text = words::text(&entries, truncated, &context.capacity);
            Reply::of(text)
        }
        Output::Json => {
            let edits = words::json(&entries, &context.capacity);
            truncated |= edits.len() < entries.len();
            json_reply(context, json!({"edits": edits, "truncated": truncated}))
        }
    })
}

/// Returns the path under which the history stores the edits of this file, or of the files below this
/// directory, which can be a root.
fn listed_path(context: &Context, file_path: &str) -> Result<PathBuf, Vec<Problem>> {
    context.workspace.resolve_for_history(file_path).map_err(|problems| {
        let cancel = Cancel::never();
        let call = call(context, ToolId::Edits, false, &cancel);
        problems
            .iter()
            .map(|problem| explain::path(call, explain::CalledFile::by_path(file_path), problem))
            .collect()
    })
}

/// `undo_text_file_edits`: undoes a past edit.
pub const UNDO: Tool = Tool {
    id: ToolId::Undo,
    title: "Undo an edit",
    description: "Undo an edit, the last change or another, that was made through this server: all of its files get the bytes that they had before, \
        or none does. A file that has changed since is a conflict; its error names the later edit that is in the way, \
        which can be undone first. Undoing a create removes the file, undoing a move moves it back. The undo is an edit itself: to redo, undo the \
        edit_id that it returns.",
    search_hint: Some("revert change back"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object(&[EDIT_ID.needed(), DRY_RUN]),
    run: |context, values, cancel| {
        undo(context, &UNDO.parse(undo_request, values, Notes::of(context))?, cancel)
    },
};

/// The request to undo an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoRequest {
    /// The id of the edit, as the client wrote it.
    pub edit_id: String,
    /// Whether to write nothing.
    pub dry_run: bool,
}

/// Reads the request of a call that undoes an edit.
pub fn undo_request(fields: &mut Fields<'_>) -> Option<UndoRequest> {
    let edit_id = fields.text(EDIT_ID);
    let dry_run = fields.flag(DRY_RUN);
    Some(UndoRequest { edit_id: edit_id?, dry_run })
}

/// Undoes an edit.
pub(super) fn undo(context: &Context, request: &UndoRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let tool = ToolId::Undo;
    let fail = |problem| failure(context, tool, vec![problem]);
    let unknown = || fail(words::unknown(&context.config.tools, &request.edit_id));
    let id = EditId::parse(&request.edit_id).ok_or_else(unknown)?;
    let is_cancelled = || cancel.is_cancelled();
    let shown = |path: &Path| context.shown.as_ref()?.get(path);
    let control = context.control(tool, &shown).cancelled_by(&is_cancelled);
    let workspace = &context.workspace;
    let undone =
        if request.dry_run { workspace.plan_undo(&id, control) } else { workspace.undo(&id, control) };
    let undone = undone.map_err(|error| match error {
        UndoError::Unknown => unknown(),
        UndoError::History(reason) => fail(words::unreadable(workspace.state_directory(), &reason)),
        UndoError::Displaced(_) => fail(words::displaced(&id)),
        UndoError::Problems(found) => {
            let call = call(context, tool, found.entry.files.len() > 1, cancel);
            let mut problems: Vec<_> = words::undo_problems(call, &found);
            problems.sort_by_key(|(file, _)| *file);
            failure(context, tool, problems.into_iter().map(|(_, problem)| problem).collect())
        }
    })?;
    if let (Some(shown), false) = (&context.shown, request.dry_run) {
        shown.record_edits(&undone.outcome);
    }
    let paths: Vec<String> =
        undone.entry.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    let name = |edited: &Edited| paths.get(edited.entry).map(String::as_str).unwrap_or_default();
    Ok(edit_reply(context, tool, &undone.outcome, name, request.dry_run))
}
