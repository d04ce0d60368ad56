//! Arguments that several tools take: their schemas, and how they are read.

use mcp_text_editor_core::resolve::GuardedRange;
use serde_json::Value;

use crate::arguments::{Ends, Fields};
use crate::wire::schema::{flag, integer, object, text};

/// Reads `end`: null, absent and -1 are the last line.
pub(super) fn end_of(fields: &mut Fields<'_>, name: &'static str) -> Option<i64> {
    fields.integer(name).filter(|end| *end != -1)
}

pub(super) fn guarded_range(mut fields: Fields<'_>) -> Option<GuardedRange> {
    let start = fields.required("start", "the first line, counted from 1", Fields::integer);
    let end = end_of(&mut fields, "end");
    let range_hash = fields.tag("range_hash");
    fields.check_order(start?, end);
    Some(GuardedRange { start: start?, end, range_hash })
}

pub(super) fn guarded_range_schema(range_hash: &str, required: &[&str]) -> Value {
    object(
        &[
            ("start", integer("First line, from 1.")),
            ("end", integer(LINE_END)),
            ("range_hash", text(range_hash)),
        ],
        required,
    )
}

pub(super) const LINE_END: &str = "Last line, included. Default: the end.";

pub(super) const FILE_HASH: &str = "the `file_hash` of the last reply about this file";

pub(super) fn file_path_schema() -> Value {
    text("Absolute path.")
}

pub(super) fn file_hash_schema() -> Value {
    text("From the last reply on this file.")
}

pub(super) fn encoding_schema() -> Value {
    text("Default: by BOM, else utf-8.")
}

pub(super) fn dry_run_schema() -> Value {
    flag("Only check, and return the diff.")
}

/// Reads `contents` that must hold something, as appending and inserting take it.
pub(super) fn new_lines(fields: &mut Fields<'_>) -> Option<String> {
    let contents = fields.required("contents", "the lines to add", |f, name| f.text(name, Ends::Lines))?;
    if contents.is_empty() {
        fields.note_invalid(
            "`contents` is empty, so there is nothing to add".to_owned(),
            "give the lines to add; \"\\n\" adds an empty line",
        );
    }
    Some(contents)
}
