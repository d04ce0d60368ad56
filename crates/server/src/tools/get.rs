//! `get_text_file_contents`: reads files, or ranges of their lines.

use serde_json::{Map, Value};

use super::output;
use super::shared::{LINE_END, end_of, file_path_schema};
use super::tool::Tool;
use crate::actions::read::{self, ReadFile, ReadRange, ReadRequest};
use crate::arguments::{Fields, Notes, each};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, flag, integer, list, object, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Get,
    title: "Read text files",
    description: "Read text files, whole or by line ranges, many in one call: give `file_path` (with `line_start`, \
        `line_end`) or `files`. `start: -50` is the last fifty lines; `ranges: []` returns only facts (lines, \
        size, encoding, hash).\n\
        Each range has a header line with `file_hash` and `range_hash`, then its lines as number, tab, text; \
        number and tab are not in the file: never copy them into an edit. Keep the hashes: an edit may name lines \
        by `range_hash` instead of their text; append, insert and delete need `file_hash`.\n\
        A long reply is cut and says where to go on. A file that cannot be read spoils no other.",
    beside: &[],
    destructive: false,
    idempotent: true,
    input,
    output: output::read,
    run,
};

fn input() -> Map<String, Value> {
    let range = object(
        &[
            ("start", integer("First line, from 1, or -1 from the end.")),
            ("end", integer(LINE_END)),
            ("from_char", integer("Go on in a long first line, at this character, from 1.")),
        ],
        &["start"],
    );
    let file = object(
        &[
            ("file_path", file_path_schema()),
            ("ranges", list("Default: the whole file. Empty: only facts.", range)),
            ("encoding", text("Default: that of the call.")),
        ],
        &["file_path"],
    );
    arguments(
        &[
            ("file_path", text("Absolute path. This or files.")),
            ("line_start", integer("First line, from 1, or -1 from the end. Default: 1.")),
            ("line_end", integer(LINE_END)),
            ("files", list("This or file_path.", file)),
            ("encoding", text("Such as latin1. Default: by BOM, else utf-8.")),
            ("line_numbers", flag("Default: true.")),
        ],
        &[],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    read::read(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<ReadRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<ReadRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Get)
}

fn request(mut fields: Fields<'_>) -> Option<ReadRequest> {
    let listed = fields.has_items("files");
    // With `files` given, an empty `file_path` counts as absent: some clients cannot leave a key out.
    let says =
        |name: &&str| fields.has(name) && !(listed && *name == "file_path" && fields.is_empty_text(name));
    let short: Vec<&str> = ["file_path", "line_start", "line_end"].into_iter().filter(says).collect();
    if listed && !short.is_empty() {
        fields.note_invalid(
            format!("`files` and `{}` are both given", short.join("`, `")),
            "give either `files`, or `file_path` with `line_start` and `line_end`; null counts as left out",
        );
    } else if !listed && short.is_empty() {
        fields.note_invalid(
            "`file_path` or `files` is missing".to_owned(),
            "give `file_path`: the absolute path of the file",
        );
    }
    let one = short_form(&mut fields, !short.is_empty() && !listed);
    let many = fields.objects("files").filter(|_| listed);
    let many = many.map(|files| each(files, read_file));
    let encoding = fields.encoding();
    let line_numbers = fields.flag("line_numbers", true);
    let mut files: Vec<ReadFile> = many.unwrap_or_else(|| one.map(|file| vec![file]))?;
    for file in &mut files {
        file.encoding = file.encoding.take().or_else(|| encoding.clone());
    }
    Some(ReadRequest { files, line_numbers })
}

/// Reads the short form. Where it is not `wanted` it is read nevertheless, so that its names are known and its types
/// are checked, but nothing in it is required.
fn short_form(fields: &mut Fields<'_>, wanted: bool) -> Option<ReadFile> {
    let file_path = if wanted { fields.file_path() } else { fields.optional_path("file_path") };
    let start = fields.integer("line_start");
    let end = end_of(fields, "line_end");
    let ranges = (start.is_some() || end.is_some()).then(|| {
        let start = start.unwrap_or(1);
        fields.check_order(start, end);
        vec![ReadRange { start, end, from_char: None }]
    });
    Some(ReadFile { file_path: file_path?, encoding: None, ranges })
}

fn read_file(mut fields: Fields<'_>) -> Option<ReadFile> {
    let file_path = fields.file_path();
    let ranges = fields.objects("ranges").map(|ranges| each(ranges, read_range));
    let encoding = fields.encoding();
    let ranges = match ranges {
        Some(ranges) => Some(ranges?),
        None => None,
    };
    Some(ReadFile { file_path: file_path?, encoding, ranges })
}

fn read_range(mut fields: Fields<'_>) -> Option<ReadRange> {
    let start = fields.required("start", "the first line, counted from 1", Fields::integer);
    let end = end_of(&mut fields, "end");
    let from_char = fields.positive("from_char");
    fields.check_order(start?, end);
    Some(ReadRange { start: start?, end, from_char })
}
