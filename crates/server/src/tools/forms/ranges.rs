//! Lines that a call names: a list of ranges, or a start and an end a level too high.

use serde_json::{Value, json};

use super::given::Given;
use super::levels::Level;
use super::reader::Reader;
use crate::render::part::Part;

/// The parts of a range.
pub(super) type Range = Vec<(&'static str, Part)>;

const PAIR: &str = "a range as `[start, end]`";

/// Reads the lines that an object names; none if it names none. Returns nothing for lines in no form that is understood.
pub(super) fn of(given: &mut Given<'_>, level: &Level, reader: &mut Reader<'_>) -> Option<Vec<Range>> {
    let listed = given.take_list("ranges", reader.limits());
    if let Some(value) = listed {
        return list(&value, level, reader);
    }
    let line = given.take("line");
    let start = given.take("start").or(line);
    let end = given.take("end").or(line);
    let hash = given.take("range_hash");
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

fn list(value: &Value, level: &Level, reader: &mut Reader<'_>) -> Option<Vec<Range>> {
    match value {
        Value::Array(items) => match pair(items) {
            Some(range) => {
                reader.odd.say(PAIR);
                Some(vec![range])
            }
            None => items.iter().map(|item| one(item, level, reader)).collect(),
        },
        one_alone => {
            let range = one(one_alone, level, reader)?;
            reader.odd.say("a range without a list");
            Some(vec![range])
        }
    }
}

fn one(item: &Value, level: &Level, reader: &mut Reader<'_>) -> Option<Range> {
    match item {
        Value::Object(values) => {
            let mut given = Given::of(values, level, &mut reader.odd)?;
            let parts =
                level.own.iter().filter_map(|name| Some((*name, Part::Value(given.take(name)?.clone()))));
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

/// Reads `[start, end]`.
fn pair(items: &[Value]) -> Option<Range> {
    let [start, end] = items else { return None };
    let is_range = start.is_number() && end.is_number();
    is_range.then(|| vec![("start", Part::Value(start.clone())), ("end", Part::Value(end.clone()))])
}
