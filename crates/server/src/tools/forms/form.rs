//! The failure of a call that is in another form: one problem, which tells the whole call as this server
//! takes it.

use serde_json::{Map, Value};

use super::given::Odd;
use super::reader::Reader;
use super::{command, find, foreign, other, patch};
use crate::arguments::{Object, ValueKind, is_absent};
use crate::clients::is_added;
use crate::config::Output;
use crate::context::{Cancel, Context};
use crate::limits::Limits;
use crate::problem::{Code, Failure, Problem};
use crate::render::layout;
use crate::render::part::{Detail, Part};
use crate::tool_id::ToolId;
use crate::tools::all::of;

/// The most characters of the hint that tells the call.
const MAX: usize = 5_000;

/// The most names, and the most notes, that the problem repeats.
const MAX_NAMES: usize = 12;
const MAX_NOTES: usize = 4;

/// Returns the failure of a call that is in another form than the tool takes, with the call as this server
/// takes it. Returns `None` for any other call, right or wrong.
#[must_use]
pub fn in_another_form(
    context: &Context,
    tool: ToolId,
    values: &Map<String, Value>,
    cancel: &Cancel,
) -> Option<Failure> {
    // No known form of another tool asks for a list of past edits.
    if tool == ToolId::Edits || holds(of(tool)?.arguments, values) {
        return None;
    }
    let mut reader = Reader::new(context, cancel);
    let plain = foreign::unwrapped(values, &mut reader);
    let values = plain.as_ref().unwrap_or(values);
    let (suggested, call) = match values.get("command") {
        Some(_) => command::call(values, &mut reader)?,
        None => form(tool, values, &mut reader)?,
    };
    let Reader { odd, shown, .. } = reader;
    let limits = &context.config.limits;
    if odd.names.is_empty() || !takes(suggested, &call, limits) {
        return None;
    }
    let told = |detail| {
        let mut failure = failure(context, tool, (suggested, &call), &odd, detail);
        if let (Some(problem), Some(shown)) = (failure.problems.first_mut(), &shown) {
            problem.lines = Some(shown.of);
            problem.actual = Some(shown.clone());
        }
        failure
    };
    let mut failures = Detail::STEPS.into_iter().map(told);
    let mut least = failures.next()?;
    while !is_told(&least, context) {
        match failures.next() {
            Some(next) => least = next,
            None => break,
        }
    }
    Some(least)
}

/// Tells whether all arguments have names of this object, and so on in its lists, so that there is no need to
/// look closer. It is false for a replacement with only one of its texts and no ranges, which may be in
/// another form.
fn holds(object: Object, values: &Map<String, Value>) -> bool {
    let has = |name: &str| values.get(name).is_some_and(|value| !value.is_null());
    let half = has("old_string") != has("new_string") && !has("ranges");
    !half && values.iter().all(|(name, value)| holds_value(object, name, value))
}

fn holds_value(object: Object, name: &str, value: &Value) -> bool {
    let Some(own) = object.named(name) else { return is_absent(name, value) || is_added(name) };
    match (own.kind, value) {
        (ValueKind::Paths, value) => value.is_null() || value.is_array(),
        (ValueKind::Objects(_), Value::Array(items)) => {
            items.iter().all(|item| item.as_object().is_some_and(|values| holds(own.items, values)))
        }
        (ValueKind::Objects(_), other) => other.is_null(),
        _ => true,
    }
}

fn form(tool: ToolId, values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let inserts = ["insert_line", "insert_text"].into_iter().any(|name| values.contains_key(name));
    match tool {
        ToolId::Get => other::read(values, reader),
        ToolId::Patch if inserts && reader.offers(ToolId::Insert) => other::insert(values, reader),
        ToolId::Patch if other::appends(values) && reader.offers(ToolId::Append) => {
            other::plain(ToolId::Append, values, reader)
        }
        ToolId::Patch => patch::call(values, reader),
        ToolId::Create | ToolId::Append | ToolId::Move | ToolId::Remove => other::plain(tool, values, reader),
        ToolId::Insert => other::insert(values, reader),
        ToolId::Delete => other::delete(values, reader),
        ToolId::Search => find::search(values, reader),
        ToolId::List => find::list(values, reader),
        ToolId::Undo => command::undo(values, reader),
        ToolId::Edits => None,
    }
}

/// Tells whether the tool takes the call, once its blanks are filled.
fn takes(tool: ToolId, call: &Part, limits: &Limits) -> bool {
    let Value::Object(values) = call.filled() else { return false };
    of(tool).is_some_and(|tool| (tool.takes)(values, limits))
}

fn failure(
    context: &Context,
    tool: ToolId,
    (suggested, call): (ToolId, &Part),
    odd: &Odd,
    detail: Detail,
) -> Failure {
    let told = call.told(detail);
    let lead = if suggested == tool { "write".to_owned() } else { format!("call {}", suggested.name()) };
    let hint = format!("{lead} {}{}", told.text, told.to_fill());
    let mut reason =
        format!("{} does not take {}", tool.name(), listed(&[&odd.names[..], &odd.misspelled].concat()));
    for note in odd.notes.iter().take(MAX_NOTES) {
        reason.push_str("; ");
        reason.push_str(note);
    }
    if !odd.left_out.is_empty() {
        reason.push_str("; left out: ");
        reason.push_str(&listed(&odd.left_out));
    }
    let problem = Problem::new(Code::InvalidArguments, reason, hint).suggest(suggested);
    Failure::of_tool(tool, vec![problem], |tool| context.config.tools.contains(tool))
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Tells whether the client shows the hint whole.
fn is_told(failure: &Failure, context: &Context) -> bool {
    let Some(hint) = failure.problems.first().map(|problem| problem.hint.as_str()) else { return false };
    let is_whole = || match context.config.output {
        Output::Text => layout::text_within(failure, &context.capacity).ends_with(hint),
        Output::Json => {
            let told: Value =
                serde_json::from_str(&layout::json_within(failure, &context.capacity)).unwrap_or_default();
            told.get("hint").and_then(Value::as_str) == Some(hint)
        }
    };
    hint.chars().count() <= MAX && is_whole()
}
