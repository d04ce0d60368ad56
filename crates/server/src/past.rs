//! From a typed request about past edits to what is said of it: what [`crate::work`] is to the other tools. What people are
//! shown is [`crate::history`]'s.

use std::path::{Path, PathBuf};

use mcp_text_editor_store::edit::Edited;
use mcp_text_editor_store::error::StoreErrorKind;
use mcp_text_editor_store::history::{EditId, Entry, NotKept};
use mcp_text_editor_store::roots::PathProblem;
use mcp_text_editor_store::undo::{self, NotUndone, Options, Refused, is_in_roots};

use crate::cli::Output;
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Conflict, Failure, Later, Problem};
use crate::render::explain::{self, Call, Named};
use crate::render::past as words;
use crate::tools::edits::EditsRequest;
use crate::tools::undo::UndoRequest;
use crate::tools::{self, Tool};
use crate::work::{call, edit_reply, failure, json_reply};

/// Lists past edits, of which all files lie in the roots.
pub fn list(context: &Context, request: &EditsRequest) -> Result<Reply, Failure> {
    let tool = &tools::edits::TOOL;
    let fail = |problem| failure(context, tool, vec![problem]);
    let path = request.file_path.as_deref().map(|path| listed_path(context, path)).transpose();
    let path = path.map_err(|problems| failure(context, tool, problems))?;
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let store = &context.store;
    let wanted = |entry: &Entry| is_in_roots(store, entry);
    // One more says whether there are more.
    let found = store.history.list(path.as_deref(), limit.saturating_add(1), &wanted);
    let mut entries = found.map_err(|reason| fail(unreadable(&reason)))?;
    let mut truncated = entries.len() > limit;
    entries.truncate(limit);
    let budget = usize::try_from(context.config.max_response_bytes).unwrap_or(usize::MAX);
    Ok(match context.config.output {
        Output::Text => {
            let text = words::text(&entries, truncated, budget);
            Reply { text, structured: None }
        }
        Output::Json => {
            let edits = words::json(&entries, budget);
            truncated |= edits.len() < entries.len();
            json_reply(serde_json::json!({"edits": edits, "truncated": truncated}))
        }
    })
}

/// The path by which edits of this file, or below this directory, are kept; a root is one, too.
fn listed_path(context: &Context, file_path: &str) -> Result<PathBuf, Vec<Problem>> {
    let roots = &context.store.roots;
    match roots.resolve(file_path) {
        Ok(place) => Ok(place.path().to_owned()),
        Err(problems) => match problems.as_slice() {
            [PathProblem::Failed(error)] if error.kind == StoreErrorKind::IsADirectory => {
                Ok(error.path.clone())
            }
            _ => {
                let cancel = Cancel::never();
                let call = call(context, &tools::edits::TOOL, false, &cancel);
                Err(problems.iter().map(|problem| explain::path(call, file_path, problem)).collect())
            }
        },
    }
}

/// Takes an edit back.
pub fn undo(context: &Context, request: &UndoRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let tool = &tools::undo::TOOL;
    let fail = |problem| failure(context, tool, vec![problem]);
    let unknown = || fail(unknown(&request.edit_id));
    let id = EditId::parse(&request.edit_id).ok_or_else(unknown)?;
    let is_cancelled = || cancel.is_cancelled();
    let options = Options { tool: tool.name, dry_run: request.dry_run, is_cancelled: &is_cancelled };
    let undone = undo::undo(&context.store, &id, options).map_err(|reason| match reason {
        NotUndone::Unknown => unknown(),
        NotUndone::History(reason) => fail(unreadable(&reason)),
        NotUndone::Displaced(_) => fail(displaced(&id)),
        NotUndone::Refused(refused) => {
            let call = call(context, tool, refused.entry.files.len() > 1, cancel);
            let mut problems: Vec<_> = against(call, &refused);
            problems.sort_by_key(|(file, _)| *file);
            failure(context, tool, problems.into_iter().map(|(_, problem)| problem).collect())
        }
    })?;
    let paths: Vec<String> =
        undone.entry.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    let name = |edited: &Edited| paths.get(edited.entry).map(String::as_str).unwrap_or_default();
    Ok(edit_reply(context, &undone.outcome, name, request.dry_run))
}

/// What stands against taking an edit back, each with the file of the edit that it concerns.
pub(crate) fn against(call: Call<'_>, refused: &Refused) -> Vec<(usize, Problem)> {
    let path = |file: usize| {
        let file = refused.entry.files.get(file);
        file.map_or(Path::new(""), |file| file.path.as_path()).to_string_lossy().into_owned()
    };
    let conflicts = refused.conflicts.iter().map(|conflict| {
        let file_path = path(conflict.file);
        let left = |later: &Entry| {
            let of_file = later.files.iter().find(|file| file.path.to_string_lossy() == file_path);
            of_file.is_some_and(|file| file.after == conflict.now)
        };
        let (reason, hint) = match (conflict.now, &conflict.later) {
            (now, Some(later)) if left(later) => {
                let what = if now.is_some() { "changed" } else { "removed" };
                let by = &later.id;
                (format!("{file_path} was {what} again by edit {by}"), format!("undo edit {by} first"))
            }
            (None, _) => {
                (format!("{file_path} is gone"), "create the file again, if it is wanted".to_owned())
            }
            (Some(_), later) => {
                let first = later.as_ref().map_or_else(
                    || ", not through this server".to_owned(),
                    |later| format!(", first by edit {}, then not through this server", later.id),
                );
                let hint = "read the file, and change what is to be as before by a patch";
                (format!("{file_path} has changed since{first}"), hint.to_owned())
            }
        };
        let diff_of = |entry: &Entry, file_path: &str| {
            let file = entry.files.iter().find(|file| file.path.to_string_lossy() == file_path);
            file.map(|file| file.diff.clone()).unwrap_or_default()
        };
        let later = conflict.later.as_ref().map(|later| Later {
            edit_id: later.id.to_string(),
            time: words::time(later.time),
            tool: later.tool.clone(),
            diff: diff_of(later, &file_path),
        });
        let diff = diff_of(&refused.entry, &file_path);
        let mut problem = Problem::new(Code::Conflict, reason, hint).of_file(file_path);
        problem.file_hash = conflict.now;
        problem.conflict = Some(Box::new(Conflict { diff, later }));
        (conflict.file, problem)
    });
    let refusals = refused.refusals.iter().map(|refusal| {
        let file_path = path(refusal.entry);
        let named = Named { file_path: &file_path, encoding: None, patches: &[] };
        (refusal.entry, explain::refusal(call, named, refusal))
    });
    conflicts.chain(refusals).collect()
}

fn unknown(edit_id: &str) -> Problem {
    let shown: String = edit_id.chars().take(40).collect();
    let hint = "list_text_file_edits lists the edits that are kept; edits go after some time, and those of files outside \
                the allowed directories are not to be had";
    Problem::new(Code::NotFound, format!("no edit \"{shown}\" is kept"), hint).suggest(&tools::edits::TOOL)
}

fn displaced(id: &EditId) -> Problem {
    let reason = format!("{id} is no edit, but what an interrupted one had displaced");
    let hint = format!("a person gets its bytes by: mcp-text-editor history --contents {id}");
    Problem::new(Code::Conflict, reason, hint)
}

/// Why the history cannot be looked at.
fn unreadable(reason: &NotKept) -> Problem {
    match reason {
        NotKept::Unavailable { reason } => Problem::new(
            Code::IoError,
            format!("the history of edits cannot be read: {reason}"),
            "edit the files themselves; a person can look at the history with: mcp-text-editor history",
        ),
        _ => Problem::new(
            Code::NotFound,
            "this server keeps no history of edits",
            "change what is to be as before by a patch; whoever configures the server can have it keep a history",
        )
        .suggest(&tools::patch::TOOL),
    }
}

/// The tool whose words explain what a person's undo is refused for.
pub(crate) static FOR_PEOPLE: &Tool = &tools::undo::TOOL;
