//! Arguments of every tool: whatever they are, there is a request or a bounded list of reasons; and spelling
//! them in another way that means the same changes nothing.

use mcp_text_editor::arguments::{Fields, Notes};
use mcp_text_editor::limits::Limits;
use mcp_text_editor::problem::{Code, Failure};
use mcp_text_editor::render::layout;
use mcp_text_editor::tools::{Tool, copy_lines, find, history, one_file, patch, read};
use serde_json::{Map, Value};

use crate::input::Input;
use crate::memory::peak_of;

/// At most this many problems are collected.
const MAX_PROBLEMS: usize = 1_000;

/// More problems than these are put into words only now and then: it takes a while.
const FEW_PROBLEMS: usize = 3;

/// The memory that any call may take: the problems, each with its path. On top of it comes a multiple of the
/// call's size: an object of two characters becomes a hundred times that, a long text is copied a few times
/// at most.
const LEAST_MEMORY: usize = 12 << 20;
const VALUES_RATIO: usize = 200;
const TEXT_RATIO: usize = 8;

/// Reads the bytes as a JSON object; each tool takes it as its arguments.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let twist = input.byte();
    let text = String::from_utf8_lossy(input.rest());
    // A long text in each place that has a `%`, of which there may be many.
    let text = if twist & 0x80 == 0 { text.into_owned() } else { text.replace('%', &"p".repeat(20_000)) };
    let Ok(values) = serde_json::from_str::<Map<String, Value>>(&text) else { return };
    let most = LEAST_MEMORY + VALUES_RATIO * data.len() + TEXT_RATIO * text.len();
    let call = (most, &values, twist);
    law(call, &read::TOOL, read::request);
    law(call, &patch::TOOL, patch::request);
    law(call, &one_file::CREATE, one_file::create);
    law(call, &one_file::APPEND, one_file::append);
    law(call, &one_file::INSERT, one_file::insert);
    law(call, &one_file::DELETE, one_file::delete);
    law(call, &copy_lines::TOOL, copy_lines::request);
    law(call, &find::SEARCH, find::search_request);
    law(call, &find::REPLACE, find::replace_request);
    law(call, &find::LIST, find::list_request);
    law(call, &one_file::MOVE_FILE, one_file::move_file);
    law(call, &one_file::REMOVE_FILE, one_file::remove_file);
    law(call, &history::EDITS, history::edits_request);
    law(call, &history::UNDO, history::undo_request);
}

type Read<T> = fn(&mut Fields<'_>) -> Option<T>;

fn law<T: PartialEq + std::fmt::Debug>(call: (usize, &Map<String, Value>, u8), tool: &Tool, read: Read<T>) {
    let (most, values, twist) = call;
    let limits = Limits::default();
    let parse = |values| tool.parse(read, values, Notes::new(&limits));
    let copy = values.clone();
    let (parsed, peak) = peak_of(|| parse(copy));
    assert!(peak <= most, "{peak} bytes, and not {most}");
    if let Err(failure) = &parsed {
        check_failure(failure, twist);
    }

    if parsed.is_ok() {
        // Null is absent.
        assert_eq!(parse(without_nulls(values)), parsed);
        // Keys have no order.
        let backwards = values.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(parse(backwards), parsed);
        // A value that is no text may be sent as the text that spells it.
        let mut left = usize::from(twist % 16);
        let spelled = values.iter().map(|(key, value)| (key.clone(), spell(value, &mut left))).collect();
        assert_eq!(parse(spelled), parsed);
    }
    // No key is ignored.
    let mut more = values.clone();
    if more.insert("no_such_argument".to_owned(), Value::Bool(true)).is_none() {
        let failure = parse(more).expect_err("a key that nobody asks for");
        check_failure(&failure, twist);
        let named = failure.problems.iter().any(|problem| problem.reason.contains("no_such_argument"));
        assert!(named || failure.problems.len() == MAX_PROBLEMS);
    }
}

fn check_failure(found: &Failure, twist: u8) {
    assert!((1..=MAX_PROBLEMS).contains(&found.problems.len()));
    for problem in &found.problems {
        assert_ne!(problem.code, Code::InternalError, "{problem:?}");
        assert!(!problem.reason.is_empty() && !problem.hint.is_empty());
        assert!(problem.reason.len() + problem.hint.len() < 2_000, "{problem:?}");
    }
    if found.problems.len() > FEW_PROBLEMS && twist & 0x60 != 0x60 {
        return;
    }
    for text in [layout::text(found), layout::json(found)] {
        assert!(text.chars().count() < layout::LIMIT);
    }
    let json: Value = serde_json::from_str(&layout::json(found)).expect("JSON");
    assert!(json.is_object());
}

fn without_nulls(values: &Map<String, Value>) -> Map<String, Value> {
    values
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), inside(value)))
        .collect()
}

fn inside(value: &Value) -> Value {
    match value {
        Value::Object(values) => Value::Object(without_nulls(values)),
        Value::Array(items) => Value::Array(items.iter().map(inside).collect()),
        other => other.clone(),
    }
}

/// Returns a value in which the `left`-th value that is no text is replaced by the text that spells it.
fn spell(value: &Value, left: &mut usize) -> Value {
    match value {
        Value::Null | Value::String(_) => value.clone(),
        _ if *left == 0 => {
            *left = usize::MAX;
            Value::String(value.to_string())
        }
        Value::Bool(_) | Value::Number(_) => {
            *left -= 1;
            value.clone()
        }
        Value::Array(items) => {
            *left -= 1;
            Value::Array(items.iter().map(|item| spell(item, left)).collect())
        }
        Value::Object(values) => {
            *left -= 1;
            Value::Object(values.iter().map(|(key, value)| (key.clone(), spell(value, left))).collect())
        }
    }
}
