//! `search_text_files`: finds text in files.

use serde_json::{Map, Value};

use super::output;
use super::tool::Tool;
use crate::actions::search::{self, SearchRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, flag, integer, list, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Search,
    title: "Search text files",
    description: "Search files for a regular expression (Rust syntax, within one line), or for plain text with `literal`. \
        Files that ignore files name, binary files and .git are left out; hidden files are searched.\n\
        Each hit is `path:line:text`, the line as a read shows it, so that an edit can name it at once. With `hashes` \
        it is `path:line:range_hash:text`. Lines around it (`context`) are `path-line-text`. A long reply is cut and says \
        where to go on.",
    beside: &[],
    destructive: false,
    idempotent: true,
    input,
    output: output::search,
    run,
};

/// How many hits are listed where nothing else is asked for.
const USUAL: u64 = 100;
/// No hit has more lines around it on either side.
pub const MAX_CONTEXT: u64 = 100;

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("pattern", text("What to find, such as `fn \\w+_text`.")),
            ("literal", flag("The pattern is plain text.")),
            (
                "paths",
                list(
                    "Absolute paths of files or directories. Default: all directories.",
                    text("Absolute path."),
                ),
            ),
            (
                "glob",
                list(
                    "Only these files, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
                    text("Glob."),
                ),
            ),
            ("ignore_case", flag("Default: false.")),
            ("context", integer("Lines to show before and after each hit.")),
            ("hashes", flag("Give each hit the range_hash of its line.")),
            ("max_results", integer("The most hits. Default: 100.")),
            ("offset", integer("Hits to pass over: to go on.")),
            ("encoding", text("Of files without BOM. Default: utf-8.")),
        ],
        &["pattern"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    search::search(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<SearchRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<SearchRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Search)
}

fn request(mut fields: Fields<'_>) -> Option<SearchRequest> {
    let pattern = fields.required("pattern", "what to find", Fields::label);
    if pattern.as_ref().is_some_and(String::is_empty) {
        fields.note_invalid("`pattern` is empty, and would match each line".to_owned(), "give what to find");
    }
    let literal = fields.flag("literal", false);
    let paths = fields.paths("paths").unwrap_or_default();
    let glob = fields.globs("glob");
    let ignore_case = fields.flag("ignore_case", false);
    let context = fields.count("context").unwrap_or(0).min(MAX_CONTEXT);
    let hashes = fields.flag("hashes", false);
    let max_results = fields.positive("max_results").unwrap_or(USUAL);
    let offset = fields.count("offset").unwrap_or(0);
    let encoding = fields.encoding();
    Some(SearchRequest {
        pattern: pattern?,
        literal,
        paths,
        glob,
        ignore_case,
        context,
        hashes,
        max_results,
        offset,
        encoding,
    })
}
