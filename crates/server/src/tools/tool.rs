//! Defines a tool: its words, its arguments and its function. Also reads the arguments that several tools
//! have in common.

use mcp_text_editor_core::resolve::{GuardedRange, Position};
use serde_json::{Map, Value};

use super::schemas;
use crate::arguments::vocabulary::{AFTER, BEFORE, END, RANGE_HASH, RANGES, START};
use crate::arguments::{Argument, Fields, Notes, Object};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure};
use crate::tool_id::ToolId;

/// The words of a tool, and how it is run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The tool's id.
    pub id: ToolId,
    /// The name that people see.
    pub title: &'static str,
    /// The description: what it does, when and how to use it, and what it returns; for a model.
    pub description: &'static str,
    /// Further search words for the tool; `None` if a model should see the tool without a search.
    pub search_hint: Option<&'static str>,
    /// Sentences about other tools. The description has each of them only if that tool is offered.
    pub if_offered: &'static [(ToolId, &'static str)],
    /// Whether the tool can remove content from a file.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Its arguments.
    pub arguments: Object,
    /// Checks the arguments and carries the call out.
    pub run: Run,
}

impl Tool {
    /// Returns the name by which the tool is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Returns the description, with the sentences about other tools that are offered.
    pub fn description_for(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.if_offered.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }

    /// Returns the schema of the tool's structured content.
    #[must_use]
    pub fn output(&self) -> Map<String, Value> {
        schemas::of(self.name())
    }

    /// Reads the request of a call with `read`, which notes all problems of the arguments.
    ///
    /// # Errors
    ///
    /// The failure has all problems of the arguments.
    pub fn parse<R>(
        &self,
        read: fn(&mut Fields<'_>) -> Option<R>,
        values: Map<String, Value>,
        notes: Notes<'_>,
    ) -> Result<R, Failure> {
        let request = read(&mut Fields::top(&notes, self.arguments, values));
        notes.finish(request, self.id)
    }
}

/// A function that runs a tool with its unchecked arguments, on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;

/// Reads the end of a range. Returns `None`, which means the last line, if the argument is null, absent or
/// -1.
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

/// Reads the fields of a range without a list. The `range_hash` is required.
pub(super) fn hashed_range(fields: &mut Fields<'_>) -> Option<GuardedRange> {
    if !fields.has(RANGE_HASH) {
        fields.note_invalid(
            "`range_hash` is missing",
            "give `range_hash`: as a read of exactly these lines shows it",
        );
    }
    guarded_range(fields)
}

/// Tells whether the fields of a single range are given, without a list of ranges.
pub(super) fn has_flat_range(fields: &Fields<'_>) -> bool {
    !fields.has(RANGES) && [START, END, RANGE_HASH].into_iter().any(|argument| fields.has(argument))
}

/// Reads the place at which lines are inserted: exactly one of `after` and `before` or, unless `is_needed`,
/// at most one.
pub(super) fn position(fields: &mut Fields<'_>, is_needed: bool) -> Option<Position> {
    let given = (fields.has(AFTER), fields.has(BEFORE));
    let after = fields.integer(AFTER);
    let before = fields.integer(BEFORE);
    // Beside `after`, `before: 0` counts as absent. There is no line 0, so a client that sends it cannot
    // leave the key out.
    let given = (given.0, given.1 && !(given.0 && before == Some(0)));
    let hint = "give exactly one of `after` and `before`, the other not or as null: `after: 0` is the top of the file";
    match given {
        (true, true) => fields.note_invalid("`after` and `before` are both given", hint),
        (false, false) if is_needed => fields.note_invalid("`after` or `before` is missing", hint),
        _ => {}
    }
    let line = |name: &str, number: i64, least: u64| {
        let line = u64::try_from(number).ok().filter(|line| *line >= least);
        if line.is_none() {
            fields.note(
                Code::LineOutOfRange,
                format!("`{name}` is {number}, and no file has a line there"),
                "`after: 0` and `before: 1` are the top of the file, and `after` its last line is the end",
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
