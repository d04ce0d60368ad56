//! `list_text_files`: lists files and directories.

use serde_json::{Map, Value};

use super::output;
use super::tool::Tool;
use crate::actions::list::{self, ListRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{self, arguments, flag, integer, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::List,
    title: "List files",
    description: "List the files and directories below a directory, sorted: `path`, tab, bytes; directories end in a slash. \
        Without `path`, `glob` and `depth`: the allowed directories. Files that ignore files name and .git are left out, hidden \
        files are not. A long reply is cut and says where to go on.",
    beside: &[],
    destructive: false,
    idempotent: true,
    input,
    output: output::list_files,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("path", text("Absolute path of a directory, or of a file. Default: all directories.")),
            (
                "glob",
                schema::list(
                    "Only files like these, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
                    text("Glob."),
                ),
            ),
            ("depth", integer("How deep; 1 lists what is in the directory itself. Default: all.")),
            ("include_ignored", flag("List what ignore files name, too.")),
            ("line_counts", flag("Count the lines of each file, after another tab.")),
            ("max_results", integer("The most entries. Default: 1000.")),
            ("offset", integer("Entries to pass over: to go on.")),
        ],
        &[],
    )
}

/// How many entries are listed where nothing else is asked for.
const USUAL: u64 = 1_000;

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    list::list(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<ListRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<ListRequest, Failure> {
    let mut fields = Fields::top(&notes, values);
    let path = fields.optional_path("path");
    let glob = fields.globs("glob");
    let depth = fields.positive("depth");
    let include_ignored = fields.flag("include_ignored", false);
    let line_counts = fields.flag("line_counts", false);
    let max_results = fields.positive("max_results").unwrap_or(USUAL);
    let offset = fields.count("offset").unwrap_or(0);
    drop(fields);
    let request = ListRequest { path, glob, depth, include_ignored, line_counts, max_results, offset };
    notes.finish(Some(request), ToolId::List)
}
