//! Renders a [`Failure`] as text for a model or as JSON for a program, in fewer than [`LIMIT`] characters.
//!
//! As many of the first problems as fit are rendered in full, with the text of their places as a read shows
//! it. The following ones have a short form: code, part of the call, and places. The rest are only counted.

use std::fmt::Write as _;

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::{Excerpt, MatchKind, MatchPlace};
use serde_json::{Map, Value, json};

use super::escape::{json_text, on_one_line, path_by_itself};
use crate::clients::{self, Capacity};
use crate::problem::{Failure, Later, Problem, UndoConflict};

/// A rendered failure is shorter than this many characters, whatever the call contains.
pub const LIMIT: usize = 8_000;

/// The minimum number of characters of a rendered problem. It bounds how many problems are tried.
const LEAST_PROBLEM: usize = 20;

/// The maximum bytes of [`LIMIT`] characters. Rendering stops beyond it, since the text is too long in any
/// case.
const HOPELESS: usize = 4 * LIMIT;

/// The maximum bytes of file text in one problem.
const TEXT: usize = 4_000;

/// The maximum number of places of a problem in short form.
const FEW: usize = 2;

/// The hint of a problem in short form. The problem's own hint would refer to text that the short form leaves
/// out.
const UNSEEN: &str = "read these lines again, and send them with the range_hash of that read";

/// The amount of detail in which a failure is rendered.
#[derive(Clone, Copy)]
struct Extent {
    /// The number of problems, from the first on, that are rendered in full.
    full: usize,
    /// The number of problems that are rendered at all, in full or in short form.
    shown: usize,
    /// The maximum number of characters of a reason, hint, path or line.
    words: usize,
}

/// The form in which one problem is rendered.
#[derive(Clone, Copy)]
struct Form {
    is_full: bool,
    words: usize,
}

/// Renders the failure as text: `error: CODE: REASON`, each problem with its place, text and hint, then
/// `suggestion:` and `hint:`.
#[must_use]
pub fn text(failure: &Failure) -> String {
    fit(failure, None, text_in).0
}

/// Renders the failure as text that is no longer than the client shows (`capacity`).
#[must_use]
pub fn text_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), text_in).0
}

/// Renders the failure as one JSON object on one line.
#[must_use]
pub fn json(failure: &Failure) -> String {
    fit(failure, None, |failure, extent| json_text(&json_in(failure, extent))).0
}

/// Renders the failure as JSON that is no longer than the client shows (`capacity`).
#[must_use]
pub fn json_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), |failure, extent| json_text(&json_in(failure, extent))).0
}

/// Renders one problem as text, for a file that failed among others that did not: `error: CODE: REASON`, the
/// place and its text, `hint:`.
#[must_use]
pub fn problem_text(problem: &Problem) -> String {
    text(&Failure::of(problem.clone(), "", false))
}

/// Renders one problem as a JSON object, for a file that failed among others that did not.
#[must_use]
pub fn problem_json(problem: &Problem) -> Value {
    let failure = Failure::of(problem.clone(), "", false);
    let extent = fit(&failure, None, |failure, extent| json_text(&json_in(failure, extent))).1;
    problem_in(problem, extent.of(0), None, "")
}

impl Extent {
    /// Returns the form of the problem with this index.
    fn of(self, index: usize) -> Form {
        Form { is_full: index < self.full, words: self.words }
    }
}

/// Returns the fullest rendering that is short enough, and its extent; if none is short enough, the shortest.
fn fit(
    failure: &Failure,
    capacity: Option<&Capacity>,
    render: impl Fn(&Failure, Extent) -> String,
) -> (String, Extent) {
    let attempt = |extent| {
        let text = render(failure, extent);
        let fits = text.chars().count() < LIMIT && capacity.is_none_or(|capacity| capacity.admits(&text));
        fits.then_some((text, extent))
    };
    let all = failure.problems.len();
    // Reasons of more than 2,500 characters are rare: they contain a text of the caller.
    let (mut shown, words) = (all.min(LIMIT / LEAST_PROBLEM), 2_500);
    let full = clients::most(shown, |full| attempt(Extent { full, shown, words }).is_some());
    if let Some(told) = attempt(Extent { full, shown, words }) {
        return told;
    }
    for words in [400, 100] {
        shown = clients::most(shown, |shown| attempt(Extent { full: 0, shown, words }).is_some()).max(1);
        if let Some(told) = attempt(Extent { full: 0, shown, words }) {
            return told;
        }
    }
    let extent = Extent { full: 0, shown: 1, words: 100 };
    (render(failure, extent), extent)
}

fn text_in(failure: &Failure, extent: Extent) -> String {
    let Some(first) = failure.problems.first() else {
        return String::from("error: internal_error: no reason");
    };
    let mut out = format!("error: {}: {}\n", first.code.as_str(), headline(failure, first, extent));
    let is_alone = failure.problems.len() == 1;
    let last_hint = hint(failure, extent);
    let problems = failure.problems.get(..extent.shown).unwrap_or(&failure.problems);
    let mut before: Option<&Problem> = None;
    for (index, problem) in problems.iter().enumerate() {
        if out.len() > HOPELESS {
            break;
        }
        let form = extent.of(index);
        // The header of a text that is shown has the path, the lines and the digest.
        let has_head = form.is_full && problem.texts().next().is_some();
        let is_same_file = before.is_some_and(|before| before.file_path == problem.file_path);
        let lines = problem.lines.map_or_else(String::new, |lines| format!(" {}", spelled(lines)));
        if !(is_same_file || has_head && is_alone) {
            match problem.file_path.as_deref() {
                None | Some("") if before.is_none() => {}
                None | Some("") => out.push_str("in the call\n"),
                Some(path) => {
                    let lines = if is_alone { lines.as_str() } else { "" };
                    let _ = writeln!(out, "in {}{lines}", path_by_itself(&clipped(path, form.words)));
                }
            }
        }
        if !is_alone {
            let _ = write!(out, "problem {}: ", index + 1);
            if index == 0 {
                out.push_str("as above");
            } else {
                let _ = write!(
                    out,
                    "{}: {}",
                    problem.code.as_str(),
                    one_line(&reason_after(before, problem, form), form.words)
                );
            }
            if !lines.is_empty() {
                let _ = write!(out, "; in{lines}");
            }
            out.push('\n');
        }
        details(&mut out, problem, form);
        let is_news = |fact: Option<&Problem>| !is_same_file || fact.is_none();
        if let Some(digest) = problem
            .file_hash
            .filter(|digest| !has_head && is_news(before.filter(|before| before.file_hash == Some(*digest))))
        {
            let _ = writeln!(out, "file_hash: {}", digest.short());
        }
        if let Some(lines) = problem
            .total_lines
            .filter(|lines| !has_head && is_news(before.filter(|before| before.total_lines == Some(*lines))))
        {
            let _ = writeln!(out, "total_lines: {lines}");
        }
        // A hint that the next problem shares is written after that problem only.
        let own = one_line(hint_of(problem, form), form.words);
        let next =
            problems.get(index + 1).map(|next| one_line(hint_of(next, extent.of(index + 1)), form.words));
        if !is_alone && !own.is_empty() && own != last_hint && next.as_ref() != Some(&own) {
            let _ = writeln!(out, "hint: {own}");
        }
        before = Some(problem);
    }
    let left = failure.problems.len().saturating_sub(extent.shown);
    if left > 0 {
        let _ = writeln!(out, "[{left} more problems are not shown]");
    }
    if !failure.suggestion.is_empty() {
        let _ = writeln!(out, "suggestion: {}", one_line(&failure.suggestion, extent.words));
    }
    let _ = write!(out, "hint: {last_hint}");
    out
}

/// Returns the reason of a problem, after the part of the call that the problem is about. In short form it is
/// that part alone if `before`, the previous problem, has the same code and reason.
fn reason_after(before: Option<&Problem>, problem: &Problem, form: Form) -> String {
    let is_same = |before: &Problem| (before.code, &before.reason) == (problem.code, &problem.reason);
    if !form.is_full && before.is_some_and(is_same) && !problem.part.is_empty() {
        return problem.part.trim_end_matches([':', ' ']).to_owned();
    }
    [problem.part.as_str(), &problem.reason].concat()
}

/// Words the reason of the whole failure: the reason of the first problem, the number of problems if there
/// are several, and, for an edit, that nothing was written.
fn headline(failure: &Failure, first: &Problem, extent: Extent) -> String {
    let mut reason = one_line(&reason_after(None, first, extent.of(0)), extent.words);
    let count = failure.problems.len();
    if count > 1 {
        let _ = write!(reason, " (the first of {count} problems)");
    }
    if failure.editing {
        reason.push_str("; nothing was written");
    }
    reason
}

/// Returns the hint of a problem. If the text of its places is not shown, the hint is to read that text
/// first: the digest of a text that the caller has not seen does not guard against a wrong edit.
fn hint_of(problem: &Problem, form: Form) -> &str {
    if form.is_full || problem.texts().next().is_none() { &problem.hint } else { UNSEEN }
}

/// Returns the hint that all problems share; if their hints differ, says to follow the hint of each problem.
fn hint(failure: &Failure, extent: Extent) -> String {
    let mut hints =
        failure.problems.iter().enumerate().map(|(index, problem)| hint_of(problem, extent.of(index)));
    let first = hints.next().unwrap_or_default();
    if hints.all(|hint| hint == first) {
        one_line(first, extent.words)
    } else if failure.editing {
        "put all of these right and send the whole call again".to_owned()
    } else {
        "correct each of them as its own hint says".to_owned()
    }
}

/// A range of lines that an error shows or names.
struct Row<'a> {
    lines: LineRange,
    /// Whether the call names these lines.
    is_actual: bool,
    /// Their text, if there is room for it.
    text: Option<&'a Excerpt>,
    place: Option<&'a MatchPlace>,
}

impl Row<'_> {
    /// Words the nearby line that distinguishes these lines from similar ones.
    fn beside(&self, form: Form) -> Option<String> {
        let line = self.place?.context.as_ref().filter(|_| form.is_full)?;
        Some(format!("{} \"{}\"", if line.is_above { "below" } else { "above" }, on_one_line(&line.text)))
    }
}

/// Returns the ranges of lines that an error shows or names, without duplicates. The range that the call
/// names comes first.
fn rows(problem: &Problem, form: Form) -> Vec<Row<'_>> {
    let actual = problem.actual.as_ref().filter(|_| form.is_full);
    let is_actual = |place: &&MatchPlace| actual.is_some_and(|actual| actual.of == place.lines);
    let own = problem.places.iter().find(is_actual);
    let mut rows: Vec<Row<'_>> = Vec::new();
    rows.extend(actual.map(|text| Row { lines: text.of, is_actual: true, text: Some(text), place: own }));
    let others = problem.places.iter().filter(|place| !is_actual(place));
    let others = others.take(if form.is_full { usize::MAX } else { FEW });
    rows.extend(others.map(|place| {
        let text = place.text.as_ref().filter(|_| form.is_full);
        Row { lines: place.lines, is_actual: false, text, place: Some(place) }
    }));
    let mut room = TEXT;
    for row in &mut rows {
        row.text = row.text.filter(|text| text.text.len() <= room);
        room -= row.text.map_or(0, |text| text.text.len());
    }
    rows
}

/// Whether the wanted text stands at this place. Several places with their text are only similar to it.
fn is_found(problem: &Problem, place: &MatchPlace) -> bool {
    let is_alone = problem.places.len() == 1 || place.text.is_none();
    is_alone && !matches!(place.how, MatchKind::Fuzzy | MatchKind::Applied)
}

fn details(out: &mut String, problem: &Problem, form: Form) {
    let rows = rows(problem, form);
    let in_brackets =
        |row: &Row<'_>| row.beside(form).map_or_else(String::new, |beside| format!(" ({beside})"));
    for (row, text) in rows.iter().filter_map(|row| Some((row, row.text?))) {
        let path = problem.file_path.as_deref().unwrap_or_default();
        let _ = write!(out, "{} {}", path_by_itself(&clipped(path, form.words)), spelled(row.lines));
        if let Some(total) = problem.total_lines {
            let _ = write!(out, " of {total}");
        }
        if let Some(digest) = problem.file_hash {
            let _ = write!(out, " file_hash {}", digest.short());
        }
        if let Some(digest) = text.digest {
            let _ = write!(out, " range_hash {}", digest.short());
        }
        let _ = writeln!(out, "{}", in_brackets(row));
        excerpt(out, text);
    }
    for (are_found, label) in [(true, "found at"), (false, "similar")] {
        let named = rows.iter().filter(|row| {
            row.text.is_none() && row.place.is_some_and(|place| is_found(problem, place) == are_found)
        });
        let named: Vec<String> =
            named.map(|row| format!("{}{}", spelled(row.lines), in_brackets(row))).collect();
        if !named.is_empty() {
            let _ = writeln!(out, "{label}: {}", named.join(", "));
        }
    }
    if let Some(UndoConflict { diff, later, .. }) = problem.conflict.as_deref().filter(|_| form.is_full) {
        let _ = write!(out, "the edit to be undone:\n{}", shortened(diff));
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let tool = one_line(tool, form.words);
            let _ = write!(out, "in the way: edit {edit_id}, made {time} by {tool}\n{}", shortened(diff));
        }
    }
}

/// Writes each line after its number, and `[cut]` where text is left out.
fn excerpt(out: &mut String, excerpt: &Excerpt) {
    let Excerpt { of, start, from_char, .. } = excerpt;
    if *from_char > 1 {
        let _ = writeln!(out, "[cut; from character {from_char} of line {start} on]");
    } else if *start != of.start() {
        out.push_str("[cut]\n");
    }
    let mut number = start.get();
    for content in excerpt.text.split_inclusive('\n') {
        let _ = writeln!(out, "{number}\t{}", content.strip_suffix('\n').unwrap_or(content));
        number = number.saturating_add(1);
    }
    if excerpt.truncated {
        out.push_str("[cut]\n");
    }
}

/// Returns the part of a diff that an error shows: the beginnings of its first lines.
fn shortened(diff: &str) -> String {
    let mut lines = diff.lines();
    let mut shown: String = lines.by_ref().take(20).map(|line| clipped(line, 100) + "\n").collect();
    shown.push_str(if lines.next().is_some() { "[cut]\n" } else { "" });
    shown
}

pub(super) fn spelled(lines: LineRange) -> String {
    if lines.count() == 1 {
        format!("line {}", lines.start())
    } else {
        format!("lines {}-{}", lines.start(), lines.end())
    }
}

/// Returns the first `most` characters of the text on one line. Line breaks are spelled out, so a path cannot
/// forge a line of the error.
fn one_line(text: &str, most: usize) -> String {
    on_one_line(&clipped(text, most))
}

/// Returns the first `most` characters, and an ellipsis if the text is longer.
fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn json_in(failure: &Failure, extent: Extent) -> Value {
    let first = failure.problems.first();
    let call_hint = hint(failure, extent);
    let problems = failure.problems.get(..extent.shown).unwrap_or(&failure.problems);
    let (mut errors, mut size, mut before) = (Vec::new(), 0, None);
    for (index, problem) in problems.iter().enumerate() {
        if size > HOPELESS {
            break;
        }
        let item = problem_in(problem, extent.of(index), before, &call_hint);
        size += item.to_string().len();
        errors.push(item);
        before = Some(problem);
    }
    let mut out = json!({
        "result": "error",
        "code": first.map_or("internal_error", |problem| problem.code.as_str()),
        "reason": first.map_or_else(String::new, |first| headline(failure, first, extent)),
        "suggestion": clipped(&failure.suggestion, extent.words),
        "hint": call_hint,
        "errors": errors,
    });
    let left = failure.problems.len().saturating_sub(extent.shown);
    if let (true, Some(map)) = (left > 0, out.as_object_mut()) {
        map.insert("errors_not_shown".to_owned(), json!(left));
    }
    out
}

/// Makes an item of `errors`. In short form it leaves out what it shares with `before`, the previous problem,
/// and a hint that is also the call's.
fn problem_in(problem: &Problem, form: Form, before: Option<&Problem>, call_hint: &str) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    let before = before.filter(|_| !form.is_full);
    // Readers take an item without `file_path` to be about the file of the previous item.
    let of_file = before.filter(|before| before.file_path.is_some() && before.file_path == problem.file_path);
    if let Some(path) = problem.file_path.as_ref().filter(|_| of_file.is_none()) {
        put("file_path", json!(clipped(path, form.words)));
    }
    put("code", json!(problem.code.as_str()));
    let rows = rows(problem, form);
    let beside = rows.iter().filter_map(|row| Some(format!("{} {}", spelled(row.lines), row.beside(form)?)));
    let beside = beside.collect::<Vec<_>>().join(", ");
    let gap = if beside.is_empty() { "" } else { ": " };
    put(
        "reason",
        json!(clipped(&format!("{}{gap}{beside}", reason_after(before, problem, form)), form.words)),
    );
    let hint = hint_of(problem, form);
    let is_told = hint == call_hint || before.is_some_and(|before| hint_of(before, form) == hint);
    if form.is_full || !is_told {
        put("hint", json!(clipped(hint, form.words)));
    }
    if let Some(lines) = problem.lines {
        put("start", json!(lines.start().get()));
        put("end", json!(lines.end()));
    }
    let (mut found, mut nearest) = (Vec::new(), Vec::new());
    for row in &rows {
        let lines = json!({"start": row.lines.start().get(), "end": row.lines.end()});
        let text = row.text.into_iter().flat_map(text_in_json);
        if row.place.is_some_and(|place| is_found(problem, place)) {
            found.push(lines.clone());
        }
        if row.is_actual {
            text.for_each(|(key, value)| put(key, value));
        } else if let (Value::Object(mut item), Some(_)) = (lines, row.text) {
            item.extend(text.map(|(key, value)| (key.to_owned(), value)));
            nearest.push(Value::Object(item));
        }
    }
    for (key, items) in [("found_at", found), ("nearest", nearest)] {
        if !items.is_empty() {
            put(key, Value::Array(items));
        }
    }
    if let Some(UndoConflict { diff, later, together }) = problem.conflict.as_deref().filter(|_| form.is_full)
    {
        put("diff", json!(shortened(diff)));
        if together.len() > 2 {
            put("together", json!(together));
        }
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let tool = clipped(tool, form.words);
            put("later", json!({"edit_id": edit_id, "time": time, "tool": tool, "diff": shortened(diff)}));
        }
    }
    if let Some(digest) =
        problem.file_hash.filter(|digest| of_file.is_none_or(|of| of.file_hash != Some(*digest)))
    {
        put("file_hash", json!(digest.to_string()));
    }
    if let Some(lines) =
        problem.total_lines.filter(|lines| of_file.is_none_or(|of| of.total_lines != Some(*lines)))
    {
        put("total_lines", json!(lines));
    }
    Value::Object(out)
}

/// Returns the JSON members that describe an excerpt of the file.
fn text_in_json(text: &Excerpt) -> impl Iterator<Item = (&'static str, Value)> {
    let facts = [
        ("actual", Some(json!(text.text))),
        ("actual_truncated", (!text.is_whole()).then_some(json!(true))),
        ("actual_start", (text.start != text.of.start()).then(|| json!(text.start.get()))),
        ("actual_from_char", (text.from_char > 1).then(|| json!(text.from_char))),
        ("range_hash", text.digest.map(|digest| json!(digest.to_string()))),
    ];
    facts.into_iter().filter_map(|(key, value)| Some((key, value?)))
}
