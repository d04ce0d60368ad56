//! The tools: one file each, with its words, its schema, its typed request and how that is read from the arguments.
//! What a tool does is in [`crate::actions::edit`].

pub mod append;
pub mod create;
pub mod delete;
pub mod edits;
pub mod get;
pub mod insert;
mod misplaced;
mod output;
pub mod patch;
pub mod undo;

use mcp_text_editor_core::resolve::GuardedRange;
use serde_json::{Map, Value};

use crate::arguments::Fields;
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{flag, integer, object, text};

/// What a client is told of a tool, and how it is run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Which tool it is.
    pub id: ToolId,
    /// The name that people see.
    pub title: &'static str,
    /// What it does, when to use it which way, what comes back; for a model.
    pub description: &'static str,
    /// What is said of other tools behind it, each sentence where that tool is offered.
    pub beside: &'static [(ToolId, &'static str)],
    /// Whether it can take away what a file holds.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The schema of its arguments.
    pub input: fn() -> Map<String, Value>,
    /// The schema of its structured content.
    pub output: fn() -> Map<String, Value>,
    /// Checks the arguments and does it.
    pub run: Run,
}

impl Tool {
    /// The name by which it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// What it does, with what is to be said of other tools that are offered.
    pub fn description_beside(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.beside.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }
}

/// How a tool is run with its unchecked arguments. Runs on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;

/// Every tool, in the order of `tools/list`.
pub static ALL: &[Tool] = &[
    get::TOOL,
    patch::TOOL,
    create::TOOL,
    append::TOOL,
    insert::TOOL,
    delete::TOOL,
    edits::TOOL,
    undo::TOOL,
];

/// Reads `end`: null, absent and -1 are the last line.
fn end_of(fields: &mut Fields<'_>, name: &'static str) -> Option<i64> {
    fields.integer(name).filter(|end| *end != -1)
}

fn guarded_range(mut fields: Fields<'_>) -> Option<GuardedRange> {
    let start = fields.required("start", "the first line, counted from 1", Fields::integer);
    let end = end_of(&mut fields, "end");
    let range_hash = fields.tag("range_hash");
    fields.check_order(start?, end);
    Some(GuardedRange { start: start?, end, range_hash })
}

fn guarded_range_schema(range_hash: &str, required: &[&str]) -> Value {
    object(
        &[
            ("start", integer("First line, counted from 1.")),
            ("end", integer("Last line, included. Default: the last line of the file.")),
            ("range_hash", text(range_hash)),
        ],
        required,
    )
}

const FILE_HASH: &str = "the `file_hash` of the last reply about this file";

fn file_path_schema() -> Value {
    text("Absolute path of the file.")
}

fn file_hash_schema() -> Value {
    text("The file's `file_hash` from the last reply about it: 12 or more of its hex digits.")
}

fn encoding_schema() -> Value {
    text("Encoding of the file, such as shift_jis or latin1. Default: what its BOM says, else utf-8.")
}

fn dry_run_schema() -> Value {
    flag("Check everything and return the diff, but write nothing. Default: false.")
}
