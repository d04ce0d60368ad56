//! Lines that a call names: a list of ranges, or a start and an end a level too high.

use mcp_text_editor_core::line::LineRange;
use serde_json::{Value, json};

use super::given::Given;
use super::reader::Reader;
use crate::arguments::{Object, spelled_integer};
use crate::render::part::Part;

/// The parts of a range.
pub(super) type Range = Vec<(&'static str, Part)>;

const PAIR: &str = "a range as `[start, end]`";

/// Reads the lines that an object names, which may be none. Returns `None` for lines in no form that is
/// understood.
pub(super) fn of(given: &mut Given<'_>, object: Object, reader: &mut Reader<'_>) -> Option<Vec<Range>> {
    let listed = given.take_list("ranges", reader.limits());
    if let Some(value) = listed {
        return list(&value, object, reader);
    }
    let line = given.take("line");
    let start = given.take("start").or(line);
    let end = given.take("end").or(line);
    let hash = given.take("range_hash");
    if let Some(range) = anchored(start, end, reader) {
        return Some(vec![range]);
    }
    if start.is_none() && end.is_none() {
        if hash.is_some() {
            reader.odd.leave_out("range_hash");
        }
        return Some(Vec::new());
    }
    let values =
        [("start", start.cloned().or(Some(json!(1)))), ("end", end.cloned()), ("range_hash", hash.cloned())];
    let parts = values.into_iter().filter_map(|(name, value)| Some((name, Part::Value(value?))));
    Some(vec![parts.collect()])
}

/// Gives each range that lacks one its digest, if all lines from the first of these ranges to the last can be
/// shown beside the call: a digest must not vouch for lines that nobody has seen. Otherwise the digest is
/// left as a blank.
pub(super) fn guard(path: &Part, encoding: Option<&str>, ranges: Vec<&mut Range>, reader: &mut Reader<'_>) {
    let bare = ranges.into_iter().filter(|range| range.iter().all(|(name, _)| *name != "range_hash"));
    let bare: Vec<&mut Range> = bare.collect();
    let lines: Option<Vec<LineRange>> = bare.iter().map(|range| lines_of(range)).collect();
    let span = lines.as_ref().and_then(|lines| {
        let first = lines.iter().map(|lines| lines.start().get()).min()?;
        LineRange::inclusive(first, lines.iter().map(|lines| lines.end()).max()?)
    });
    let are_shown = span.is_some_and(|span| reader.show(path, encoding, span));
    let lines = lines.filter(|_| are_shown).unwrap_or_default();
    for (index, range) in bare.into_iter().enumerate() {
        let hash = lines.get(index).and_then(|lines| reader.range_hash(path, encoding, *lines));
        let part = match hash {
            Some(hash) => Part::Value(hash.short().into()),
            None => Part::blank_hash("the range_hash that a read of exactly these lines shows"),
        };
        range.push(("range_hash", part));
    }
}

/// Returns the lines of a range whose start and end are numbers.
pub(super) fn lines_of(range: &Range) -> Option<LineRange> {
    let number = |wanted: &str| {
        let (_, part) = range.iter().find(|(name, _)| *name == wanted)?;
        let Part::Value(value) = part else { return None };
        spelled_integer(value).and_then(|number| u64::try_from(number).ok())
    };
    LineRange::inclusive(number("start")?, number("end")?)
}

fn list(value: &Value, object: Object, reader: &mut Reader<'_>) -> Option<Vec<Range>> {
    match value {
        Value::Array(items) => match pair(items) {
            Some(range) => {
                reader.odd.say(PAIR);
                Some(vec![range])
            }
            None => items.iter().map(|item| one(item, object, reader)).collect(),
        },
        Value::String(text) => {
            let (start, end) = text.split_once(['-', ':', ','])?;
            let line = |text: &str| text.trim().parse::<u64>().ok();
            reader.odd.say("a range as a text");
            Some(vec![vec![
                ("start", Part::Value(json!(line(start)?))),
                ("end", Part::Value(json!(line(end)?))),
            ]])
        }
        one_alone => {
            let range = one(one_alone, object, reader)?;
            reader.odd.say("a range without a list");
            Some(vec![range])
        }
    }
}

fn one(item: &Value, object: Object, reader: &mut Reader<'_>) -> Option<Range> {
    match item {
        Value::Object(values) => {
            let mut given = Given::of(values, object, &mut reader.odd)?;
            let parts = object
                .own
                .iter()
                .filter_map(|own| Some((own.name, Part::Value(given.take(own.name)?.clone()))));
            Some(parts.collect())
        }
        Value::Array(items) => {
            let range = pair(items)?;
            reader.odd.say(PAIR);
            Some(range)
        }
        _ => None,
    }
}

/// Reads lines that are named by anchors, a number with a digest of the line behind it (`12:a3f`), as tilth
/// has them. That digest is none of ours, and is left out.
fn anchored(start: Option<&Value>, end: Option<&Value>, reader: &mut Reader<'_>) -> Option<Range> {
    let line = |anchor: &Value| {
        let (number, digest) = anchor.as_str()?.split_once([':', '#', '|'])?;
        let is_digest =
            (1..=16).contains(&digest.len()) && digest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        number.trim().parse::<u64>().ok().filter(|_| is_digest)
    };
    let start = start.and_then(line)?;
    let end = end.map_or(Some(start), line)?;
    reader.odd.say("an anchor for a line");
    Some(vec![("start", Part::Value(json!(start))), ("end", Part::Value(json!(end)))])
}

/// Reads `[start, end]`.
fn pair(items: &[Value]) -> Option<Range> {
    let [start, end] = items else { return None };
    let is_range = start.is_number() && end.is_number();
    is_range.then(|| vec![("start", Part::Value(start.clone())), ("end", Part::Value(end.clone()))])
}
