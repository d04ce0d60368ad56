//! `copy_text_lines`: copies or moves lines within a file, or to another file.

use super::output;
use super::shared::{guarded_range, position};
use super::tool::{Request, Tool, run};
use crate::actions::copy_lines::{self, CopyRequest, LineCopy};
use crate::arguments::vocabulary::{
    AFTER, BEFORE, COPIES, DRY_RUN, ENCODING, END, FILE_HASH, FROM, MOVE, RANGE_HASH, START, TO, TO_ENCODING,
};
use crate::arguments::{Argument, Fields, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure};
use crate::tool_id::ToolId;

/// The most copies of a call.
const MAX: usize = 100;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::CopyLines,
    title: "Copy or move lines",
    description: "Copy or move whole lines within a text file or to another, without their text. Each needs the `range_hash` of a \
        reply, a `to` that exists its `file_hash`; any other is made. All refer to the files before the call; all or nothing.",
    search_hint: Some("cut paste"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object {
        own: &[
            COPIES.of(COPY),
            ENCODING.says("Default: utf-8."),
            TO_ENCODING,
            DRY_RUN.says("Only return the diff."),
            // A single copy may stand there without a list.
            FROM.hidden(),
            START.hidden(),
            END.hidden(),
            RANGE_HASH.hidden(),
            TO.hidden(),
            AFTER.hidden(),
            BEFORE.hidden(),
            FILE_HASH.hidden(),
            MOVE.hidden(),
        ],
    },
    output: output::edit,
    run: run::<CopyRequest>,
};

/// Lines, and their new place.
const COPY: Object = Object {
    own: &[
        FROM.needed(),
        START.needed().says("From 1."),
        END.says("Default: the end."),
        RANGE_HASH.needed().says("Of these lines."),
        TO.says("Default: from."),
        AFTER.says("Line of to; 0: top."),
        BEFORE.says("Or this."),
        FILE_HASH.says("Of to."),
        MOVE,
    ],
};

/// The same arguments for a single copy.
const ALONE: [Argument; 9] = [FROM, START, END, RANGE_HASH, TO, AFTER, BEFORE, FILE_HASH, MOVE];

impl Request for CopyRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let copies = if fields.says(COPIES) {
            let alone: Vec<&str> =
                ALONE.into_iter().filter(|own| fields.says(*own)).map(|own| own.name).collect();
            if !alone.is_empty() {
                fields.note_invalid(
                    format!("`copies` and `{}` are both given", alone.join("`, `")),
                    "give either `copies`, or one copy without that list",
                );
            }
            for own in ALONE {
                fields.check(own);
            }
            fields.some(COPIES, copy)
        } else {
            fields.check(COPIES);
            copy(fields).map(|copy| vec![copy])
        };
        if let Some(copies) = copies.as_ref().filter(|copies| copies.len() > MAX) {
            fields.note(
                Code::TooLarge,
                format!("the call has {} copies, and at most {MAX} go together", copies.len()),
                "send several calls, each with fewer copies".to_owned(),
            );
        }
        let encoding = fields.text(ENCODING);
        let to_encoding = fields.text(TO_ENCODING);
        let dry_run = fields.flag(DRY_RUN);
        Some(Self { copies: copies?, encoding, to_encoding, dry_run })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        copy_lines::copy_lines(context, self, cancel)
    }
}

fn copy(fields: &mut Fields<'_>) -> Option<LineCopy> {
    let from = fields.file(FROM);
    if !fields.has(RANGE_HASH) {
        fields.note_invalid(
            "`range_hash` is missing".to_owned(),
            "give `range_hash`: as a read of exactly these lines shows it",
        );
    }
    let range = guarded_range(fields);
    // Lines of a new file need no place.
    let may_be_new = fields.has(TO) && !fields.has(FILE_HASH);
    let to = fields.text(TO);
    let position = position(fields, !may_be_new);
    let file_hash = fields.tag(FILE_HASH);
    let is_move = fields.flag(MOVE);
    Some(LineCopy { from: from?, range: range?, to, position, file_hash, is_move })
}
