//! `list_text_files`: lists files and directories.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::list::{self, ListRequest};
use crate::arguments::vocabulary::{DEPTH, GLOB, INCLUDE_IGNORED, LINE_COUNTS, MAX_RESULTS, OFFSET, PATH};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::List,
    title: "List files",
    description: "List or find files by name, and directories, below a directory, sorted: `path`, tab, bytes; directories end in a slash. \
        Without `path`, `glob` and `depth`: the allowed directories. Files that ignore files name and .git are left out, hidden \
        files are not. A long reply is cut and says where to go on.",
    search_hint: Some("find directory name"),
    if_offered: &[],
    destructive: false,
    idempotent: true,
    arguments: Object { own: &[
        PATH,
        GLOB.says(
            "Only files like these, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
        ),
        DEPTH,
        INCLUDE_IGNORED,
        LINE_COUNTS,
        MAX_RESULTS.says("The most entries. Default: 1000."),
        OFFSET.says("Entries to pass over: to go on."),
    ] },
    output: output::list_files,
    run: run::<ListRequest>,
};

/// The number of entries that are listed by default.
const DEFAULT_ENTRIES: u64 = 1_000;

impl Request for ListRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let path = fields.text(PATH);
        let glob = fields.globs(GLOB);
        let depth = fields.number(DEPTH);
        let include_ignored = fields.flag(INCLUDE_IGNORED);
        let line_counts = fields.flag(LINE_COUNTS);
        let max_results = fields.number(MAX_RESULTS).unwrap_or(DEFAULT_ENTRIES);
        let offset = fields.number(OFFSET).unwrap_or(0);
        Some(Self { path, glob, depth, include_ignored, line_counts, max_results, offset })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        list::list(context, self, cancel)
    }
}
