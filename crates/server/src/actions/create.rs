//! Creates a file, or describes the one that has the name already.

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::resolve::Options as Matching;
use mcp_text_editor_store::cancellation::Cancellation;
use mcp_text_editor_store::edit::create::{NewFile, create as create_file};
use mcp_text_editor_store::edit::{EditProblem, Options, Reason};
use mcp_text_editor_store::error::StoreErrorKind;
use mcp_text_editor_store::read::document::{self, Document};
use serde_json::{Value, json};

use super::reply::{call, cancelled, edit_reply, failure, hashes};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, Call, Named};
use crate::tool_id::ToolId;

/// The file to create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateRequest {
    /// Its path, as the client wrote it.
    pub file_path: String,
    /// Its text with line ends as the client wrote them; may be empty.
    pub contents: String,
    /// The label of its encoding.
    pub encoding: Option<String>,
    /// Whether to write nothing.
    pub dry_run: bool,
}

/// Creates a file.
pub fn create(context: &Context, request: &CreateRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let file_path = request.file_path.as_str();
    let call = call(context, ToolId::Create, false, cancel);
    if cancel.is_cancelled() {
        return Err(cancelled(context, ToolId::Create));
    }
    let is_cancelled = || cancel.is_cancelled();
    let options = Options {
        tool: ToolId::Create.name(),
        undoes: None,
        matching: Matching::default(),
        dry_run: request.dry_run,
        cancellation: Cancellation::when(&is_cancelled),
    };
    let new = NewFile { file_path, contents: &request.contents, encoding: request.encoding.as_deref() };
    let done = create_file(&context.workspace, new, options).map_err(|reasons| {
        let named = Named { file_path, encoding: request.encoding.as_deref(), patches: &[] };
        let problem = |reason: Reason| match &reason {
            Reason::Store(error) if error.kind == StoreErrorKind::AlreadyExists => {
                exists(context, call, request, Cancellation::when(&is_cancelled))
            }
            _ => explain::edit_problem(call, named, &EditProblem { entry: 0, reason }),
        };
        failure(context, ToolId::Create, reasons.into_iter().map(problem).collect())
    })?;
    Ok(edit_reply(context, &done, |_| file_path, request.dry_run))
}

/// Describes the file that has the name, with the call that would replace everything in it.
fn exists(
    context: &Context,
    call: Call<'_>,
    request: &CreateRequest,
    cancellation: Cancellation<'_>,
) -> Problem {
    let file_path = request.file_path.as_str();
    let place = context.workspace.roots.resolve(file_path).ok();
    if let Some(place) = place.as_ref().filter(|place| place.is_dangling()) {
        return explain::exists_dangling(call, file_path, place.path());
    }
    let facts = place.and_then(|place| {
        // The patch call must name the encoding if the file needs one. The last of these is tried first.
        let mut labels = vec![request.encoding.clone(), None];
        while let Some(label) = labels.pop() {
            let encoding = label.as_deref().and_then(Label::parse).map(|label| label.encoding);
            let read = |document: &Document<'_>| {
                if let Some(fault) = document.not_text()? {
                    return Ok(Err(fault.looks_like()));
                }
                let scan = &document.scan;
                let lines = document.scanned().digest_of(scan.lines.bytes())?;
                Ok(Ok((scan.digest, scan.lines.count(), lines)))
            };
            match document::read(&context.workspace.scan_cache, &place, encoding, cancellation, read).ok()? {
                Ok((digest, total_lines, lines)) => return Some((digest, total_lines, lines, label)),
                Err(Some(guess)) if label.is_none() => labels.insert(0, Some(guess.name().to_owned())),
                Err(_) => {}
            }
        }
        None
    });
    let Some((digest, total_lines, all_lines, label)) = facts else {
        let mut problem = explain::exists_unreadable(file_path);
        problem.file_hash = context.workspace.roots.resolve(file_path).ok().and_then(|place| {
            document::read(&context.workspace.scan_cache, &place, None, cancellation, |found| {
                Ok(found.digest())
            })
            .ok()?
        });
        return problem;
    };
    let patch = if total_lines == 0 {
        json!({"old_string": "", "new_string": "…"})
    } else {
        json!({"ranges": [{"start": 1, "range_hash": hashes(context).print(&all_lines)}], "new_string": "…"})
    };
    let mut replace = json!({"files": [{"file_path": file_path, "patches": [patch]}]});
    if let (Some(label), Some(file)) = (label, replace.pointer_mut("/files/0").and_then(Value::as_object_mut))
    {
        file.insert("encoding".to_owned(), json!(label));
    }
    let mut problem = explain::exists(call, file_path, &replace);
    problem.file_hash = Some(digest);
    problem.total_lines = Some(total_lines);
    problem
}
