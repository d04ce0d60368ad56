//! Finds the places of the hunks of a diff if their text alone does not say them. The headers and line
//! numbers of a diff tell equal places apart, and say where lines come that replace none.

use mcp_text_editor_core::line::LineRange;
use serde_json::{Value, json};

use super::hunks::Hunk;
use super::reader::Reader;
use crate::render::part::Part;

type Parts = Vec<(&'static str, Part)>;

/// Writes hunks of one file as replacements.
pub(super) fn patches(
    hunks: Vec<Hunk>,
    path: Option<&Value>,
    encoding: Option<&str>,
    reader: &mut Reader<'_>,
) -> Vec<Parts> {
    let path = reader.path(path.cloned());
    let text = reader.text(&path, encoding);
    let lines: Option<Vec<&str>> = text.as_deref().map(|text| text.lines().collect());
    // Hunks stand in the order of their places.
    let mut from = 0;
    hunks.into_iter().map(|hunk| patch(hunk, lines.as_deref(), &mut from)).collect()
}

fn patch(hunk: Hunk, lines: Option<&[&str]>, from: &mut usize) -> Parts {
    let place = lines.and_then(|lines| {
        let below = below_headers(lines, &hunk.headers, *from);
        if hunk.old.is_empty() {
            insertion(lines, &hunk, below)
        } else {
            among_equals(lines, &hunk, below, from)
        }
    });
    let (old, new, at) = match place {
        Some(Place { old, new, at }) => (Part::Value(json!(old)), new, at),
        None if hunk.old.is_empty() => {
            (Part::blank("the line beside which the new text comes"), hunk.new, None)
        }
        None => (Part::Value(json!(hunk.old)), hunk.new, None),
    };
    let range = |lines: LineRange| json!([{"start": lines.start().get(), "end": lines.end()}]);
    let ranges = at.map(|lines| ("ranges", Part::Value(range(lines))));
    let parts = [("old_string", old), ("new_string", Part::Value(json!(new)))];
    parts.into_iter().chain(ranges).collect()
}

/// The text that is replaced, its replacement, and the lines that hold it if the text alone does not say
/// which.
struct Place {
    old: String,
    new: String,
    at: Option<LineRange>,
}

/// Returns the index of the line below the last of the headers, each looked for below the one before; `None`
/// if there are no headers, or if one is not found.
fn below_headers(lines: &[&str], headers: &[String], from: usize) -> Option<usize> {
    let mut below = None;
    let mut start = from;
    for header in headers {
        let rest = || lines.iter().enumerate().skip(start);
        let is_it = |line: &&str| line.trim() == header.as_str();
        let found = rest().find(|(_, line)| is_it(line));
        let found = found.or_else(|| rest().find(|(_, line)| line.contains(header.as_str())));
        start = found?.0 + 1;
        below = Some(start);
    }
    below
}

/// Finds which of several equal places a hunk means; `None` if there is only one or none, or if nothing tells
/// them apart.
fn among_equals(lines: &[&str], hunk: &Hunk, below: Option<usize>, from: &mut usize) -> Option<Place> {
    let wanted: Vec<&str> = hunk.old.lines().collect();
    let places: Vec<usize> = lines
        .windows(wanted.len().max(1))
        .enumerate()
        .filter(|(_, here)| *here == wanted)
        .map(|(at, _)| at)
        .collect();
    let nearest = || {
        let line = usize::try_from(hunk.line?.saturating_sub(1)).ok()?;
        places.iter().min_by_key(|at| at.abs_diff(line))
    };
    let at = match places.as_slice() {
        [] => return None,
        [one] => *one,
        several => *below.and_then(|below| several.iter().find(|at| **at >= below)).or_else(nearest)?,
    };
    *from = at + wanted.len();
    (places.len() > 1).then_some(())?;
    let range = LineRange::inclusive(at as u64 + 1, (at + wanted.len()) as u64)?;
    Some(Place { old: hunk.old.clone(), new: hunk.new.clone(), at: Some(range) })
}

/// Finds the line beside which the lines of a hunk that replaces none come: the one that a header or a number
/// names, else the last.
fn insertion(lines: &[&str], hunk: &Hunk, below: Option<usize>) -> Option<Place> {
    let named = hunk.line.and_then(|line| usize::try_from(line).ok());
    if lines.is_empty() {
        return Some(Place { old: String::new(), new: hunk.new.clone(), at: None });
    }
    let after = below.or(named).unwrap_or(lines.len());
    let number = after.max(1);
    let line = lines.get(number - 1)?;
    let new = if after == 0 { format!("{}{line}\n", hunk.new) } else { format!("{line}\n{}", hunk.new) };
    let at = LineRange::inclusive(number as u64, number as u64)?;
    Some(Place { old: format!("{line}\n"), new, at: Some(at) })
}
