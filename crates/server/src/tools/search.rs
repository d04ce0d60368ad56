//! `search_text_files`: finds text in files.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::search::{self, SearchRequest};
use crate::arguments::vocabulary::{
    CONTEXT, CONTEXT_AFTER, CONTEXT_BEFORE, ENCODING, GLOB, HASHES, IGNORE_CASE, LITERAL, MAX_RESULTS,
    MULTILINE, OFFSET, PATHS, PATTERN,
};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Search,
    title: "Search text files",
    description: "Search files: find text in them, as grep does, by a regular expression (Rust syntax) or as plain \
        text with `literal`. \
        Files that ignore files name, binary files and .git are left out; hidden files are searched.\n\
        Each hit is `path:line:text`, the line as a read shows it, so that an edit can name it at once. With `hashes` \
        it is `path:line:range_hash:text`. Lines around it (`context`) are `path-line-text`. A long reply is cut and says \
        where to go on.",
    search_hint: Some("find grep"),
    if_offered: &[],
    destructive: false,
    idempotent: true,
    arguments: Object { own: &[
        PATTERN.needed(),
        LITERAL,
        PATHS,
        GLOB.says(
            "Only these files, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
        ),
        IGNORE_CASE,
        MULTILINE,
        CONTEXT,
        CONTEXT_BEFORE,
        CONTEXT_AFTER,
        HASHES,
        MAX_RESULTS.says("The most hits. Default: 100."),
        OFFSET.says("Hits to pass over: to go on."),
        ENCODING.says("Of files without BOM. Default: utf-8."),
    ] },
    output: output::search,
    run: run::<SearchRequest>,
};

/// The number of hits that are listed by default.
const DEFAULT_HITS: u64 = 100;
/// The most lines that are shown on either side of a hit.
pub const MAX_CONTEXT: u64 = 100;

impl Request for SearchRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let pattern = fields.text(PATTERN);
        if pattern.as_ref().is_some_and(String::is_empty) {
            fields.note_invalid(
                "`pattern` is empty, and would match each line".to_owned(),
                "give what to find",
            );
        }
        let literal = fields.flag(LITERAL);
        let paths = fields.paths(PATHS).unwrap_or_default();
        let glob = fields.globs(GLOB);
        let ignore_case = fields.flag(IGNORE_CASE);
        let multiline = fields.flag(MULTILINE);
        let context = fields.number(CONTEXT).unwrap_or(0);
        let [before, after] = [CONTEXT_BEFORE, CONTEXT_AFTER]
            .map(|side| fields.number(side).unwrap_or(context).min(MAX_CONTEXT));
        let hashes = fields.flag(HASHES);
        let max_results = fields.number(MAX_RESULTS).unwrap_or(DEFAULT_HITS);
        let offset = fields.number(OFFSET).unwrap_or(0);
        let encoding = fields.text(ENCODING);
        Some(Self {
            pattern: pattern?,
            literal,
            paths,
            glob,
            ignore_case,
            multiline,
            before,
            after,
            hashes,
            max_results,
            offset,
            encoding,
        })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        search::search(context, self, cancel)
    }
}
