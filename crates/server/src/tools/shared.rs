//! The reading of arguments that several tools take.

use mcp_text_editor_core::resolve::{GuardedRange, Position};

use crate::arguments::vocabulary::{AFTER, BEFORE, CONTENTS, END, RANGE_HASH, RANGES, START};
use crate::arguments::{Argument, Fields};
use crate::problem::Code;

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

/// Reads the place of lines: exactly one of `after` and `before`, or at most one if it is not needed.
pub(super) fn position(fields: &mut Fields<'_>, is_needed: bool) -> Option<Position> {
    let given = (fields.has(AFTER), fields.has(BEFORE));
    let after = fields.integer(AFTER);
    let before = fields.integer(BEFORE);
    // Nothing stands before line 0: a client that cannot leave the key out means nothing by it.
    let given = (given.0, given.1 && !(given.0 && before == Some(0)));
    let hint = "give exactly one of `after` and `before`, the other not or as null: `after: 0` is the top of the file";
    match given {
        (true, true) => fields.note_invalid("`after` and `before` are both given".to_owned(), hint),
        (false, false) if is_needed => fields.note_invalid("`after` or `before` is missing".to_owned(), hint),
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
