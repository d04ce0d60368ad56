//! `replace_in_text_files`: replaces all matches of a pattern, in many files.

use super::output;
use super::tool::{Request, Tool, run};
use crate::actions::replace::{self, ReplaceRequest};
use crate::arguments::vocabulary::{
    ENCODING, EXPECTED_REPLACEMENTS, GLOB, IGNORE_CASE, LITERAL, MULTILINE, PATHS, PATTERN, REPLACEMENT,
};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Replace,
    title: "Replace in text files",
    description: "Replace a pattern in many text files, all or nothing: rename across files. Call it first without \
        `expected_replacements`: it writes nothing, and shows counts, diffs and, as its last line, the number to send \
        with the same call. Undone as one.",
    search_hint: Some("rename sed"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object {
        own: &[
            PATTERN.needed().says("Regular expression (Rust)."),
            REPLACEMENT.needed(),
            LITERAL.says("Both are plain text."),
            PATHS.says("Absolute. Default: all directories."),
            GLOB.says("Such as *.{ts,tsx} or !*.md."),
            IGNORE_CASE,
            MULTILINE,
            EXPECTED_REPLACEMENTS,
            ENCODING,
        ],
    },
    output: output::replaced,
    run: run::<ReplaceRequest>,
};

impl Request for ReplaceRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let pattern = fields.text(PATTERN);
        let replacement = fields.text(REPLACEMENT);
        let literal = fields.flag(LITERAL);
        let paths = fields.paths(PATHS).unwrap_or_default();
        let glob = fields.globs(GLOB);
        let ignore_case = fields.flag(IGNORE_CASE);
        let multiline = fields.flag(MULTILINE);
        let expected_replacements = fields.number(EXPECTED_REPLACEMENTS);
        let encoding = fields.text(ENCODING);
        Some(Self {
            pattern: pattern?,
            replacement: replacement?,
            literal,
            paths,
            glob,
            ignore_case,
            multiline,
            expected_replacements,
            encoding,
        })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        replace::replace(context, self, cancel)
    }
}
