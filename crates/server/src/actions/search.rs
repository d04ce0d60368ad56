//! Finds text in files.

use std::ops::ControlFlow;

use mcp_text_editor_store::{Control, Search};

use super::reply::{call, failure};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::render::explain::find;
use crate::render::page::{Findings, Page};
use crate::render::search::Hits;
use crate::tool_id::ToolId;

/// The approximate number of bytes of a line that a hit shows. A longer line is cut around the match.
const LINE: usize = 500;

/// The request of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an argument of its own")]
pub struct SearchRequest {
    /// A regular expression, or plain text.
    pub pattern: String,
    /// Whether the pattern is plain text.
    pub literal: bool,
    /// The files and directories, as the client wrote them; none for all roots.
    pub paths: Vec<String>,
    /// The globs that choose files, each in the notation of ignore files; none for all.
    pub glob: Vec<String>,
    /// Whether to ignore letter case.
    pub ignore_case: bool,
    /// Whether a match may go over several lines.
    pub multiline: bool,
    /// The number of lines before each hit to show.
    pub before: u64,
    /// The number of lines after each hit to show.
    pub after: u64,
    /// Whether to return the hash of each hit's line.
    pub hashes: bool,
    /// The most hits to show.
    pub max_results: u64,
    /// The number of hits to skip.
    pub offset: u64,
    /// The label of the files' encoding.
    pub encoding: Option<String>,
}

/// Searches until the reply is full, enough was found, or the time is over.
pub fn search(context: &Context, request: &SearchRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let tool = ToolId::Search;
    let paths: Vec<&str> = request.paths.iter().map(String::as_str).collect();
    let glob: Vec<&str> = request.glob.iter().map(String::as_str).collect();
    let search = Search {
        literal: request.literal,
        multiline: request.multiline,
        ignore_case: request.ignore_case,
        paths: &paths,
        glob: &glob,
        encoding: request.encoding.as_deref(),
        before: request.before,
        after: request.after,
        hashes: request.hashes,
        max_line_bytes: LINE,
        time_limit: cancel.time_left(),
        progress: Some(cancel.files_done()),
        ..Search::new(&request.pattern)
    };
    let Context { capacity, config, .. } = context;
    let page = Page::new(Findings::Hits, *capacity, config.output, request.offset, request.max_results);
    let has_more = request.before.max(request.after) > 0 || request.multiline;
    let mut hits = Hits::new(page, has_more);
    let mut sink = |found: mcp_text_editor_store::FileMatches| {
        let mut are_shown = found.matches.iter().map(|hit| hits.show(&found.file_path, hit));
        let end = are_shown.by_ref().position(|shown| shown.is_break());
        let shown = end.map_or(found.matches.as_slice(), |end| found.matches.get(..end).unwrap_or_default());
        if let (Some(files), [_, ..]) = (&context.shown, shown) {
            files.record_hits(&found.real_path, shown);
        }
        if end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let is_withdrawn = || cancel.is_withdrawn();
    let control = Control::of(tool.name()).cancelled_by(&is_withdrawn);
    let done = context.workspace.search(&search, &mut sink, control).map_err(|error| {
        let call = call(context, tool, paths.len() > 1, cancel);
        failure(
            context,
            tool,
            find::problems(call, &paths, &request.glob, request.encoding.as_deref(), &error),
        )
    })?;
    Ok(hits.page.finish(&done, &config.limits))
}
