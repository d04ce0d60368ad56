//! From a typed request to what is said of it: the one place where the protocol meets the store.

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::resolve::{GuardedRange, Options as Matching};
use mcp_text_editor_core::show::show;
use mcp_text_editor_store::edit::create::{NewFile, create as create_file};
use mcp_text_editor_store::edit::{Change, Edit, EditProblem, Edited, Options, Outcome, Reason, edit};
use mcp_text_editor_store::error::StoreErrorKind;
use mcp_text_editor_store::read::document::{self, Document};
use mcp_text_editor_store::state_dir::StateDir;
use serde_json::{Value, json};

use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Failure, Problem};
use crate::render::edit::{self as edit_words, Hashes};
use crate::render::explain::{self, Call, Named};
use crate::render::json_text;
use crate::render::read::{self as read_words, FileRead, LeftOut, Page};
use crate::tool_id::ToolId;
use crate::tools::append::AppendRequest;
use crate::tools::create::CreateRequest;
use crate::tools::delete::DeleteRequest;
use crate::tools::get::{ReadFile, ReadRange, ReadRequest};
use crate::tools::insert::InsertRequest;
use crate::tools::patch::PatchRequest;

/// Reads ranges of files. One file that cannot be read does not spoil the others.
pub fn get(context: &Context, request: &ReadRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let call = call(context, ToolId::Get, request.files.len() > 1, cancel);
    let ranges = |file: &ReadFile| file.ranges.as_ref().map_or(1, Vec::len);
    let files = request.files.iter().map(|file| (file.file_path.as_str(), ranges(file)));
    let mut page = Page::new(context.room, context.config.output, request.line_numbers, files);
    let (mut problems, mut is_any_read, mut is_full) = (Vec::new(), false, false);
    for file in &request.files {
        if cancel.is_out_of_time() {
            // What was read in time is worth having.
            let problem = explain::out_of_time(&context.config.limits).of_file(&file.file_path);
            is_full = is_full || !page.failed(std::slice::from_ref(&problem));
            problems.push(problem);
            if is_full && is_any_read {
                break;
            }
            continue;
        }
        if cancel.is_cancelled() {
            return Err(cancelled(context, ToolId::Get));
        }
        let before = page.left;
        match read_file(context, call, file, &mut page, is_full, cancel) {
            Ok(is_told) => {
                is_any_read = true;
                is_full |= !is_told;
            }
            Err(found) => {
                // A file that failed leaves its share to the others.
                page.left = before;
                page.left.pass(ranges(file), usize::from(ranges(file) == 0));
                is_full = is_full || !page.failed(&found);
                problems.extend(found);
            }
        }
        // Without room only the question is left whether all files fail.
        if is_full && is_any_read {
            break;
        }
    }
    if !is_any_read {
        return Err(failure(context, ToolId::Get, problems));
    }
    let next = request.files.get(page.files()).map(|file| file.file_path.as_str());
    Ok(page.finish(request.files.len(), next))
}

/// Shows a file on the page, unless that is full; false if there was not room for all that was asked of it.
fn read_file(
    context: &Context,
    call: Call<'_>,
    file: &ReadFile,
    page: &mut Page,
    is_full: bool,
    cancel: &Cancel,
) -> Result<bool, Vec<Problem>> {
    let file_path = &file.file_path;
    let named = Named { file_path, encoding: file.encoding.as_deref(), patches: &[] };
    let place = context.workspace.roots.resolve(file_path);
    let label = file.encoding.as_deref().map(Label::parse);
    let (place, label) = match (place, label) {
        (Ok(place), Some(Some(label))) => (place, Some(label.encoding)),
        (Ok(place), None) => (place, None),
        (place, label) => {
            let problems = place.err().unwrap_or_default();
            let unknown = matches!(label, Some(None)).then(|| explain::unknown_encoding(named));
            return Err(problems
                .iter()
                .map(|problem| explain::path(call, file_path, problem))
                .chain(unknown)
                .collect());
        }
    };
    let before = page.left;
    let read =
        document::read(&context.workspace.scan_cache, &place, label, &|| cancel.is_cancelled(), |document| {
            page.left = before;
            if let Some(fault) = document.not_text()? {
                return Ok(Err(vec![explain::not_text(named, &fault)]));
            }
            let whole = [ReadRange { start: 1, end: None, from_char: None }];
            let asked = file.ranges.as_deref().unwrap_or(&whole);
            let (mut wanted, mut problems) = (Vec::new(), Vec::new());
            for range in asked {
                match lines_of(document, range) {
                    Ok(lines) => wanted.push((range, lines)),
                    Err(problem) => problems.push(problem.of_file(file_path)),
                }
            }
            if !problems.is_empty() {
                return Ok(Err(problems));
            }
            let read = FileRead { file_path, scan: &document.scan };
            if is_full || !page.take_file(&read, wanted.is_empty()) {
                return Ok(Ok(None));
            }
            let mut ranges = Vec::new();
            for (range, lines) in &wanted {
                let from_char = range.from_char.unwrap_or(1);
                let Some(budget) = page.budget(&read, *lines, from_char) else { break };
                let (shown, used) = show(document.scanned(), *lines, from_char, budget)?;
                if !page.take(&read, &shown, used) {
                    break;
                }
                page.left.pass(1, 0);
                ranges.push(shown);
            }
            let left_out = wanted.get(ranges.len()).map(|(range, _)| LeftOut {
                count: wanted.len() - ranges.len(),
                of: wanted.len(),
                start: range.start,
            });
            Ok(Ok(
                (left_out.is_none() || !ranges.is_empty()).then(|| (document.scan.clone(), ranges, left_out))
            ))
        });
    let Some((scan, ranges, left_out)) =
        read.map_err(|error| vec![explain::store(call, file_path, &error)])??
    else {
        page.left = before;
        return Ok(false);
    };
    let is_facts = file.ranges.as_ref().is_some_and(Vec::is_empty);
    page.left.pass(0, usize::from(is_facts));
    page.file(&FileRead { file_path, scan: &scan }, (!is_facts).then_some(ranges), left_out);
    Ok(left_out.is_none())
}

/// The lines of a file that a range means.
fn lines_of(document: &Document<'_>, range: &ReadRange) -> Result<LineRange, Box<Problem>> {
    let total = document.scan.lines.count();
    let start = match u64::try_from(range.start) {
        Ok(start) => start.max(1),
        // -50 is the first of the last fifty lines.
        Err(_) => (total + 1).saturating_sub(range.start.unsigned_abs()).max(1),
    };
    let end = match range.end {
        None => total.max(start - 1),
        Some(end) => u64::try_from(end)
            .ok()
            .filter(|end| *end >= start)
            .ok_or_else(|| Box::new(read_words::ends_before(range.start, start, end)))?,
    };
    let first = LineNumber::from_index(start - 1);
    Ok(LineRange::new(first, end.min(total).saturating_sub(start - 1)))
}

/// Replaces text in files.
pub fn patch(context: &Context, request: &PatchRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let edits: Vec<Edit<'_>> = request
        .files
        .iter()
        .map(|file| Edit {
            file_path: &file.file_path,
            encoding: file.encoding.as_deref(),
            file_hash: file.file_hash.as_ref(),
            change: Change::Patch(&file.patches),
        })
        .collect();
    edit_files(context, ToolId::Patch, &edits, request.dry_run, cancel)
}

/// Adds lines to the end of a file.
pub fn append(context: &Context, request: &AppendRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let edit = Edit {
        file_path: &request.file_path,
        encoding: request.encoding.as_deref(),
        file_hash: Some(&request.file_hash),
        change: Change::Append(&request.contents),
    };
    edit_files(context, ToolId::Append, &[edit], request.dry_run, cancel)
}

/// Adds lines between two lines of a file.
pub fn insert(context: &Context, request: &InsertRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let edit = Edit {
        file_path: &request.file_path,
        encoding: request.encoding.as_deref(),
        file_hash: Some(&request.file_hash),
        change: Change::Insert(&request.contents, request.position),
    };
    edit_files(context, ToolId::Insert, &[edit], request.dry_run, cancel)
}

/// Deletes lines of a file.
pub fn delete(context: &Context, request: &DeleteRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let edit = Edit {
        file_path: &request.file_path,
        encoding: request.encoding.as_deref(),
        file_hash: Some(&request.file_hash),
        change: Change::Delete(&request.ranges),
    };
    edit_files(context, ToolId::Delete, &[edit], request.dry_run, cancel)
}

fn edit_files(
    context: &Context,
    tool: ToolId,
    edits: &[Edit<'_>],
    dry_run: bool,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    let limits = &context.config.limits;
    let is_cancelled = || cancel.is_cancelled();
    let options = Options {
        tool: tool.name(),
        undoes: None,
        matching: Matching {
            strict: context.config.strict,
            max_occurrences: limits.get(Limit::Occurrences),
            max_inserted: limits.get(Limit::Inserted),
        },
        dry_run,
        is_cancelled: &is_cancelled,
    };
    let done = edit(&context.workspace, edits, options).map_err(|refusals| {
        let call = call(context, tool, edits.len() > 1, cancel);
        let ranges: Vec<Vec<&[GuardedRange]>> = edits.iter().map(ranges_of_patches).collect();
        let explained = |refusal: &EditProblem| {
            let edit = edits.get(refusal.entry);
            let named = Named {
                file_path: edit.map(|edit| edit.file_path).unwrap_or_default(),
                encoding: edit.and_then(|edit| edit.encoding),
                patches: ranges.get(refusal.entry).map_or(&[], Vec::as_slice),
            };
            explain::refusal(call, named, refusal)
        };
        failure(context, tool, refusals.iter().map(explained).collect())
    })?;
    let name = |edited: &Edited| edits.get(edited.entry).map(|edit| edit.file_path).unwrap_or_default();
    Ok(edit_reply(context, &done, name, dry_run))
}

/// The ranges that each patch of an edit names.
fn ranges_of_patches<'a>(edit: &Edit<'a>) -> Vec<&'a [GuardedRange]> {
    match edit.change {
        Change::Patch(patches) => patches.iter().map(|patch| patch.ranges.as_slice()).collect(),
        Change::Delete(ranges) => vec![ranges],
        Change::Append(_) | Change::Insert(..) | Change::Restore { .. } => Vec::new(),
    }
}

/// What the words about a call need to know of it.
pub(crate) fn call<'a>(context: &'a Context, tool: ToolId, many_files: bool, cancel: &'a Cancel) -> Call<'a> {
    let state = context.workspace.state_dir.as_ref().map(StateDir::path);
    let Config { limits, tools: offered, .. } = &*context.config;
    Call { tool, roots: &context.workspace.roots, state, many_files, limits, cancel, offered }
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
        is_cancelled: &is_cancelled,
    };
    let new = NewFile { file_path, contents: &request.contents, encoding: request.encoding.as_deref() };
    let done = create_file(&context.workspace, new, options).map_err(|reasons| {
        let named = Named { file_path, encoding: request.encoding.as_deref(), patches: &[] };
        let problem = |reason: Reason| match &reason {
            Reason::Store(error) if error.kind == StoreErrorKind::AlreadyExists => {
                exists(context, call, request, &is_cancelled)
            }
            _ => explain::refusal(call, named, &EditProblem { entry: 0, reason }),
        };
        failure(context, ToolId::Create, reasons.into_iter().map(problem).collect())
    })?;
    Ok(edit_reply(context, &done, |_| file_path, request.dry_run))
}

/// What is known of the file that is in the way, and the call that would replace everything in it.
fn exists(
    context: &Context,
    call: Call<'_>,
    request: &CreateRequest,
    is_cancelled: &dyn Fn() -> bool,
) -> Problem {
    let file_path = request.file_path.as_str();
    let place = context.workspace.roots.resolve(file_path).ok();
    if let Some(place) = place.as_ref().filter(|place| place.is_dangling()) {
        return explain::exists_dangling(call, file_path, place.path());
    }
    let facts = place.and_then(|place| {
        // The patch call has to name the encoding, if the file needs one; the last of these is tried first.
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
            match document::read(&context.workspace.scan_cache, &place, encoding, is_cancelled, read).ok()? {
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
            document::read(&context.workspace.scan_cache, &place, None, is_cancelled, |found| {
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

pub(crate) fn edit_reply<'a>(
    context: &Context,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Reply {
    let value = edit_words::json(done, name, dry_run, hashes(context), &context.room);
    match context.config.output {
        Output::Text => Reply { text: json_text(&value), structured: None },
        Output::Json => json_reply(value),
    }
}

fn hashes(context: &Context) -> Hashes {
    match context.config.output {
        Output::Text => Hashes::Short,
        Output::Json => Hashes::Whole,
    }
}

pub(crate) fn json_reply(value: Value) -> Reply {
    Reply { text: json_text(&value), structured: Some(value) }
}

fn cancelled(context: &Context, tool: ToolId) -> Failure {
    failure(context, tool, vec![explain::cancelled()])
}

/// A failure of a tool among those that this process offers.
pub(crate) fn failure(context: &Context, tool: ToolId, problems: Vec<Problem>) -> Failure {
    Failure::of_tool(tool, problems, |tool| context.config.tools.contains(tool))
}
