//! A [`Failure`] as text for a model or as JSON for a program, always shorter than [`LIMIT`] characters.
//!
//! A problem is told in full, with the text of its places as a read shows it, while there is room; the later
//! ones in short, by code, part and places; and the rest is counted.

use std::fmt::Write as _;

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::{Excerpt, MatchKind, MatchPlace};
use serde_json::{Map, Value, json};

use super::escape::{json_text, on_one_line, path_by_itself};
use crate::clients::{self, Capacity};
use crate::problem::{Failure, Later, Problem, UndoConflict};

/// An error is shorter than this many characters, whatever the call held.
pub const LIMIT: usize = 8_000;

/// The fewest characters that a problem takes. It bounds how many problems are tried.
const LEAST_PROBLEM: usize = 20;

/// A text of more bytes than this has too many characters in any case, so that writing on is useless.
const HOPELESS: usize = 4 * LIMIT;

/// The most bytes of the file's text in one problem.
const TEXT: usize = 4_000;

/// The most places of a problem that is told in short.
const FEW: usize = 2;

/// The hint of a problem in short form, which lacks the text that its own hint goes by.
const UNSEEN: &str = "read these lines again, and send them with the range_hash of that read";

/// The amount of a failure that is told.
#[derive(Clone, Copy)]
struct Extent {
    /// The first problems, which are said in full.
    full: usize,
    /// The problems that are told at all.
    shown: usize,
    /// The most characters of a reason, hint, path or line.
    words: usize,
}

/// The form in which one problem is told.
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

/// Renders the failure as text for a client that shows so much of it.
#[must_use]
pub fn text_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), text_in).0
}

/// Renders the failure as one JSON object on one line.
#[must_use]
pub fn json(failure: &Failure) -> String {
    fit(failure, None, |failure, extent| json_text(&json_in(failure, extent))).0
}

/// Renders the failure as JSON for a client that shows so much of it.
#[must_use]
pub fn json_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), |failure, extent| json_text(&json_in(failure, extent))).0
}

/// Renders one problem as text, for a file that failed among others that did not: `error: CODE: REASON`,
/// where and what, `hint:`.
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
    /// Returns the form of a problem by its index.
    fn of(self, index: usize) -> Form {
        Form { is_full: index < self.full, words: self.words }
    }
}

/// Returns the fullest rendering that is short enough, and its extent.
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
    // Longer reasons are rare: they hold a text of the caller.
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
        // A hint that the next problem has, too, follows that one.
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

/// Returns the reason of a problem, with the part of the call that it names. In short it is that part alone
/// if the problem told before has the same reason.
fn reason_after(before: Option<&Problem>, problem: &Problem, form: Form) -> String {
    let is_same = |before: &Problem| (before.code, &before.reason) == (problem.code, &problem.reason);
    if !form.is_full && before.is_some_and(is_same) && !problem.part.is_empty() {
        return problem.part.trim_end_matches([':', ' ']).to_owned();
    }
    [problem.part.as_str(), &problem.reason].concat()
}

/// Words the reason of the whole failure: that of its first problem, how many there are, and, of an edit,
/// that nothing was written.
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

/// Returns the hint of a problem. Where its text is not shown, that is to be read first: the digest of such a
/// text would guard nothing.
fn hint_of(problem: &Problem, form: Form) -> &str {
    if form.is_full || problem.texts().next().is_none() { &problem.hint } else { UNSEEN }
}

/// Returns the hint that all problems have in common, or says to follow that of each.
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

/// Some lines that an error shows or names.
struct Row<'a> {
    lines: LineRange,
    /// Whether the call names them.
    is_actual: bool,
    /// Their text, if there is room for it.
    text: Option<&'a Excerpt>,
    place: Option<&'a MatchPlace>,
}

impl Row<'_> {
    /// Words the line near them that tells them from others.
    fn beside(&self, form: Form) -> Option<String> {
        let line = self.place?.context.as_ref().filter(|_| form.is_full)?;
        Some(format!("{} \"{}\"", if line.is_above { "below" } else { "above" }, on_one_line(&line.text)))
    }
}

/// Returns the lines that an error shows or names, the ones that the call names first, each once.
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

/// Whether the wanted text stands there. Of several places that are only like it, it stands at none.
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

/// Writes the lines, each behind its number, and where any are left out.
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

/// Returns as much of a diff as an error shows.
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

/// Returns the text on one line of at most `most` characters, with line breaks spelled out, so that a path
/// cannot forge a line.
fn one_line(text: &str, most: usize) -> String {
    on_one_line(&clipped(text, most))
}

/// Returns the first `most` characters, and a mark if that is not all.
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

/// Makes an item of `errors`. In short it leaves out what it has in common with the one `before`, or with the
/// call.
fn problem_in(problem: &Problem, form: Form, before: Option<&Problem>, call_hint: &str) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    let before = before.filter(|_| !form.is_full);
    // An item without a path would be taken for one of the file before it.
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

/// Returns what JSON says of a text of the file.
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
