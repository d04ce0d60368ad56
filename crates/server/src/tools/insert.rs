//! `insert_text_file_contents`: adds lines between two lines of a file.

use mcp_text_editor_core::resolve::Position;
use serde_json::{Map, Value};

use super::output;
use super::shared::{
    FILE_HASH, dry_run_schema, encoding_schema, file_hash_schema, file_path_schema, new_lines,
};
use super::tool::Tool;
use crate::actions::edit::{self, InsertRequest};
use crate::arguments::{Fields, Notes};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::{Code, Failure};
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, integer, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Insert,
    title: "Insert into a text file",
    description: "Insert lines into a text file; give exactly one of `after` and `before`. `after: 0` is the top, `after` \
        the last line the end. If the file no longer has this `file_hash`, nothing is written and the error has \
        the new one. The text is ended by a newline. The reply has the new `file_hash`, so the next edit needs no \
        read.",
    beside: &[(ToolId::Patch, "For several places at once use patch_text_file_contents.")],
    destructive: false,
    idempotent: false,
    input,
    output: output::edit,
    run,
};

fn input() -> Map<String, Value> {
    arguments(
        &[
            ("file_path", file_path_schema()),
            ("file_hash", file_hash_schema()),
            ("contents", text("The lines to insert; not empty.")),
            ("after", integer("The line after which they come, or 0.")),
            ("before", integer("The line before which they come, from 1.")),
            ("encoding", encoding_schema()),
            ("dry_run", dry_run_schema()),
        ],
        &["file_path", "file_hash", "contents"],
    )
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    edit::insert(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<InsertRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<InsertRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Insert)
}

fn request(mut fields: Fields<'_>) -> Option<InsertRequest> {
    let file_path = fields.file_path();
    let file_hash = fields.required("file_hash", FILE_HASH, Fields::tag);
    let contents = new_lines(&mut fields);
    let position = position(&mut fields);
    let encoding = fields.encoding();
    let dry_run = fields.flag("dry_run", false);
    Some(InsertRequest {
        file_path: file_path?,
        file_hash: file_hash?,
        position: position?,
        contents: contents?,
        encoding,
        dry_run,
    })
}

fn position(fields: &mut Fields<'_>) -> Option<Position> {
    let given = (fields.has("after"), fields.has("before"));
    let after = fields.integer("after");
    let before = fields.integer("before");
    let hint = "give exactly one of `after` and `before`, the other not or as null: `after: 0` is the top of the file";
    match given {
        (true, true) => fields.note_invalid("`after` and `before` are both given".to_owned(), hint),
        (false, false) => fields.note_invalid("`after` or `before` is missing".to_owned(), hint),
        _ => {}
    }
    let line = |name: &str, number: i64, least: u64| {
        let line = u64::try_from(number).ok().filter(|line| *line >= least);
        if line.is_none() {
            fields.note(
                Code::LineOutOfRange,
                format!("`{name}` is {number}, and no file has a line there"),
                "`after: 0` and `before: 1` are the top of the file, and `after` its last line is the end"
                    .to_owned(),
            );
        }
        line
    };
    match (after, before) {
        (Some(after), None) => line("after", after, 0).map(Position::After),
        (None, Some(before)) => line("before", before, 1).map(Position::Before),
        _ => None,
    }
}
