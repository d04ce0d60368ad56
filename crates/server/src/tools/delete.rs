//! `delete_text_file_contents`: deletes lines of a file.

use super::output;
use super::shared::{guarded_range, has_flat_range};
use super::tool::{Request, Tool, run};
use crate::actions::edit::{self, DeleteRequest};
use crate::arguments::vocabulary::{DRY_RUN, ENCODING, END, FILE_HASH, FILE_PATH, RANGE_HASH, RANGES, START};
use crate::arguments::{Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Delete,
    title: "Delete lines of a text file",
    description: "Delete or remove whole lines of a text file, one or several ranges at once. Each needs the `range_hash` of exactly \
        those lines, from a read. Line numbers refer to the file before the call; ranges must not overlap. If \
        anything does not fit, nothing is deleted, and the error has the present text and hashes. The reply has \
        the new `file_hash`. The file itself is never removed.",
    search_hint: Some("remove lines"),
    if_offered: &[(ToolId::Patch, "For part of a line use patch_text_file_contents.")],
    destructive: true,
    idempotent: false,
    arguments: Object {
        own: &[
            FILE_PATH.needed(),
            FILE_HASH.needed(),
            RANGES
                .needed_for("the lines to delete, each with `start`, `end` and `range_hash`")
                .says("The lines to delete.")
                .of(RANGE),
            ENCODING,
            DRY_RUN,
            START.hidden(),
            END.hidden(),
            RANGE_HASH.hidden(),
        ],
    },
    output: output::edit,
    run: run::<DeleteRequest>,
};

/// A range of lines to delete.
const RANGE: Object =
    Object { own: &[START.needed(), END, RANGE_HASH.needed().says("From a read of these lines.")] };

impl Request for DeleteRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let file_path = fields.file(FILE_PATH);
        let file_hash = fields.tag(FILE_HASH);
        let ranges = if has_flat_range(fields) {
            if !fields.has(RANGE_HASH) {
                fields.note_invalid(
                    "`range_hash` is missing".to_owned(),
                    "give `range_hash`: as a read of exactly these lines shows it",
                );
            }
            guarded_range(fields).map(|range| vec![range])
        } else {
            fields.some(RANGES, guarded_range)
        };
        let encoding = fields.text(ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { file_path: file_path?, file_hash: file_hash?, ranges: ranges?, encoding, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        edit::delete(context, self, cancel)
    }
}
