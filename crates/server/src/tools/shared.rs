//! The reading of arguments that several tools take.

use mcp_text_editor_core::resolve::GuardedRange;

use crate::arguments::vocabulary::{CONTENTS, END, RANGE_HASH, RANGES, START};
use crate::arguments::{Argument, Fields};

/// Reads the end of a range. Returns `None`, which stands for the last line, if it is null, absent or -1.
pub(super) fn end_of(fields: &mut Fields<'_>, argument: Argument) -> Option<i64> {
    fields.integer(argument).filter(|end| *end != -1)
}

pub(super) fn guarded_range(fields: &mut Fields<'_>) -> Option<GuardedRange> {
    let start = fields.integer(START.needed());
    let end = end_of(fields, END);
    let range_hash = fields.tag(RANGE_HASH);
    fields.check_order(start?, end);
    Some(GuardedRange { start: start?, end, range_hash })
}

/// Tells whether the arguments of a single range stand there, without a list.
pub(super) fn has_flat_range(fields: &Fields<'_>) -> bool {
    !fields.has(RANGES) && [START, END, RANGE_HASH].into_iter().any(|argument| fields.has(argument))
}

/// Reads `contents` that must hold something, as appending and inserting take it.
pub(super) fn new_lines(fields: &mut Fields<'_>) -> Option<String> {
    let contents = fields.text(CONTENTS)?;
    if contents.is_empty() {
        fields.note_invalid(
            "`contents` is empty, so there is nothing to add".to_owned(),
            "give the lines to add; \"\\n\" adds an empty line",
        );
    }
    Some(contents)
}
