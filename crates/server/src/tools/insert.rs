//! `insert_text_file_contents`: adds lines between two lines of a file.

use mcp_text_editor_core::resolve::Position;

use super::output;
use super::shared::new_lines;
use super::tool::{Request, Tool, run};
use crate::actions::edit::{self, InsertRequest};
use crate::arguments::vocabulary::{AFTER, BEFORE, CONTENTS, DRY_RUN, ENCODING, FILE_HASH, FILE_PATH};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure};
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Insert,
    title: "Insert into a text file",
    description: "Insert lines into a text file; give exactly one of `after` and `before`. `after: 0` is the top, `after` \
        the last line the end. If the file no longer has this `file_hash`, nothing is written and the error has \
        the new one. The text is ended by a newline. The reply has the new `file_hash`.",
    search_hint: Some("add between"),
    if_offered: &[(ToolId::Patch, "For several places use patch_text_file_contents.")],
    destructive: false,
    idempotent: false,
    arguments: Object {
        own: &[
            FILE_PATH.needed(),
            FILE_HASH.needed(),
            CONTENTS.needed().says("The lines to insert; not empty."),
            AFTER,
            BEFORE,
            ENCODING,
            DRY_RUN,
        ],
    },
    output: output::edit,
    run: run::<InsertRequest>,
};

impl Request for InsertRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let file_hash = fields.tag(FILE_HASH);
        let contents = new_lines(fields);
        let position = position(fields);
        let encoding = fields.text(ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self {
            file_path: file_path?,
            file_hash: file_hash?,
            position: position?,
            contents: contents?,
            encoding,
            dry_run,
        })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        edit::insert(context, self, cancel)
    }
}

fn position(fields: &mut Fields<'_>) -> Option<Position> {
    let given = (fields.has(AFTER), fields.has(BEFORE));
    let after = fields.integer(AFTER);
    let before = fields.integer(BEFORE);
    // Nothing stands before line 0: a client that cannot leave the key out means nothing by it.
    let given = (given.0, given.1 && !(given.0 && before == Some(0)));
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
    match (after, before.filter(|_| given.1)) {
        (Some(after), None) => line("after", after, 0).map(Position::After),
        (None, Some(before)) => line("before", before, 1).map(Position::Before),
        _ => None,
    }
}
