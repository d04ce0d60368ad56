//! Lists files and directories.

use mcp_text_editor_store::{Control, List, ListEntry};

use super::reply::{call, failure};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::render::explain::find;
use crate::render::list as words;
use crate::render::page::{Findings, Page};
use crate::tool_id::ToolId;

/// The request for a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListRequest {
    /// The directory, or the file, as the client wrote it; `None` for the roots.
    pub path: Option<String>,
    /// The globs that choose files, each in the notation of ignore files; none for all.
    pub glob: Vec<String>,
    /// The number of levels; `None` for all, or for the roots alone if there is neither a path nor a glob.
    pub depth: Option<u64>,
    /// Whether to list what ignore files name.
    pub include_ignored: bool,
    /// Whether to count the lines of files.
    pub line_counts: bool,
    /// The most entries to list.
    pub max_results: u64,
    /// The number of entries to skip.
    pub offset: u64,
}

/// Lists until the reply is full, or holds as many entries as were asked for, or the time is over.
pub fn list(context: &Context, request: &ListRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let tool = ToolId::List;
    let glob: Vec<&str> = request.glob.iter().map(String::as_str).collect();
    let list = List {
        glob: &glob,
        // Without a path and a depth the store lists only the roots, to which no glob applies. So a glob
        // without a depth asks for all levels.
        depth: request.depth.or_else(|| (!glob.is_empty()).then_some(u64::MAX)),
        include_ignored: request.include_ignored,
        line_counts: request.line_counts,
        time_limit: cancel.time_left(),
        progress: Some(cancel.files_done()),
        ..List::new(request.path.as_deref())
    };
    let Context { capacity, config, .. } = context;
    let mut page =
        Page::new(Findings::Entries, *capacity, config.output, request.offset, request.max_results);
    let mut sink = |entry: ListEntry| words::show(&mut page, &entry);
    let is_withdrawn = || cancel.is_withdrawn();
    let control = Control::of(tool.name()).cancelled_by(&is_withdrawn);
    let done = context.workspace.list(&list, &mut sink, control).map_err(|error| {
        let paths: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let call = call(context, tool, false, cancel);
        failure(context, tool, find::problems(call, &paths, &request.glob, None, &error))
    })?;
    Ok(page.finish(&done, &config.limits))
}
