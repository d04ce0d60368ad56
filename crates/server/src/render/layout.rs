//! A [`Failure`] as text for a model or as JSON for a program, always shorter than [`LIMIT`] characters.
//!
//! What several problems have in common is told once: in text always, as JSON only if complete items would be
//! too long. What does not fit is left out in this order: the similar places; the actual text, line by line;
//! of each problem what it repeats of the one before, the hint for its own place, and all but the first
//! places; the later problems, of which the number is told; at last the ends of overlong reasons, hints and
//! paths.

use std::fmt::Write as _;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::CLOSEST;
use mcp_text_editor_core::nearest::MAX_PLACES;
use mcp_text_editor_core::rejection::Excerpt;
use serde_json::{Map, Value, json};

use super::escape::{json_text, on_one_line, path_by_itself};
use super::sharing;
use crate::capacity::{self, Capacity};
use crate::problem::{Failure, IfCut, Later, Problem, UndoConflict};

/// An error is shorter than this many characters, whatever the call held.
pub const LIMIT: usize = 8_000;

/// The fewest characters that a problem takes. It bounds how many problems are tried.
const LEAST_PROBLEM: usize = 20;

/// A text of more bytes than this has too many characters in any case, so that writing on is useless.
const HOPELESS: usize = 4 * LIMIT;

/// The amount of detail in a failure.
#[derive(Clone, Copy)]
struct Detail {
    /// True if, as JSON, what an item shares with the one before it is left out.
    once: bool,
    nearest: bool,
    /// Lines of an excerpt.
    lines: usize,
    /// Characters of a line of an excerpt.
    width: usize,
    /// Places of each problem.
    places: usize,
    /// True if a reason is left out that is that of the problem before, and hints are those that problems can
    /// share.
    brief: bool,
    problems: usize,
    /// Characters of a reason, hint, path or tool name.
    words: usize,
}

impl Detail {
    /// All there is to tell; `problems` is filled in later.
    const FULL: Self = Self {
        once: false,
        nearest: true,
        lines: 20,
        width: LIMIT,
        places: CLOSEST,
        brief: false,
        problems: 0,
        words: LIMIT,
    };
    const ONCE: Self = Self { once: true, ..Self::FULL };
    const LEAST: Self = Self { nearest: false, lines: 2, width: 80, ..Self::ONCE };
    /// The steps before problems are left out.
    const STEPS: [Self; 9] = [
        Self::FULL,
        Self::ONCE,
        Self { nearest: false, ..Self::ONCE },
        Self { nearest: false, lines: 10, width: 400, ..Self::ONCE },
        Self { nearest: false, lines: 5, width: 200, ..Self::ONCE },
        Self::LEAST,
        Self { brief: true, ..Self::LEAST },
        Self { brief: true, places: 5, ..Self::LEAST },
        Self { brief: true, places: 2, ..Self::LEAST },
    ];

    /// Tells whether landmarks tell places apart: only if no place is left out.
    fn tells_apart(self) -> bool {
        self.places == CLOSEST
    }
}

/// The lengths of words that are tried after that, if even the first problem alone is too long.
const WORDS: [usize; 6] = [LIMIT, 4_000, 2_000, 1_000, 400, 100];

/// Renders the failure as text: `error: CODE: REASON`, each problem with its place, text and hint, then
/// `suggestion:` and `hint:`.
#[must_use]
pub fn text(failure: &Failure) -> String {
    fit(failure, None, text_in)
}

/// Renders the failure as text for a client that shows so much of it.
#[must_use]
pub fn text_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), text_in)
}

/// Renders the failure as one JSON object on one line.
#[must_use]
pub fn json(failure: &Failure) -> String {
    fit(failure, None, |failure, detail| json_text(&json_in(failure, detail)))
}

/// Renders the failure as JSON for a client that shows so much of it.
#[must_use]
pub fn json_within(failure: &Failure, capacity: &Capacity) -> String {
    fit(failure, Some(capacity), |failure, detail| json_text(&json_in(failure, detail)))
}

/// Renders one problem as text, for a file that failed among others that did not: `error: CODE: REASON`,
/// where and what, `hint:`.
#[must_use]
pub fn problem_text(problem: &Problem) -> String {
    let failure = Failure::of(problem.clone(), "", false);
    text(&failure)
}

/// Renders one problem as a JSON object, for a file that failed among others that did not.
#[must_use]
pub fn problem_json(problem: &Problem) -> Value {
    let failure = Failure::of(problem.clone(), "", false);
    let detail = fitting(&failure, None, |failure, detail| json_text(&json_in(failure, detail))).1;
    problem_in(problem, detail, Shared::default())
}

fn fit(
    failure: &Failure,
    capacity: Option<&Capacity>,
    render: impl Fn(&Failure, Detail) -> String,
) -> String {
    fitting(failure, capacity, render).0
}

/// Returns the fullest rendering that is short enough, and how full it is.
fn fitting(
    failure: &Failure,
    capacity: Option<&Capacity>,
    render: impl Fn(&Failure, Detail) -> String,
) -> (String, Detail) {
    let fits =
        |text: &str| text.chars().count() < LIMIT && capacity.is_none_or(|capacity| capacity.admits(text));
    let attempt = |detail| Some(render(failure, detail)).filter(|text| fits(text));
    let all = failure.problems.len();
    let most = all.min(LIMIT / LEAST_PROBLEM);
    let mut detail = Detail::FULL;
    for step in Detail::STEPS {
        detail = Detail { problems: all, ..step };
        if all == most
            && let Some(text) = attempt(detail)
        {
            return (text, detail);
        }
    }
    // The length grows with the number of problems.
    let fitting = capacity::most(most, |problems| attempt(Detail { problems, ..detail }).is_some());
    detail.problems = fitting.max(1);
    for words in WORDS {
        detail = Detail { words, ..detail };
        if let Some(text) = attempt(detail) {
            return (text, detail);
        }
    }
    detail = Detail { lines: 0, ..detail };
    (render(failure, detail), detail)
}

fn text_in(failure: &Failure, detail: Detail) -> String {
    let Some(first) = failure.problems.first() else {
        return String::from("error: internal_error: no reason");
    };
    let mut out = format!("error: {}: {}\n", first.code.as_str(), headline(failure, first, detail));
    if failure.problems.len() > 1 {
        several(&mut out, failure, detail);
    } else {
        let place = place(first, detail);
        if !place.is_empty() {
            let _ = writeln!(out, "in {place}");
        }
        details(&mut out, first, detail);
        facts(&mut out, first.file_hash.as_ref(), first.total_lines);
    }
    let left = failure.problems.len().saturating_sub(detail.problems);
    if left > 0 {
        let _ = writeln!(out, "[{left} more problems are not shown]");
    }
    let suggestion = suggestion(failure, detail);
    if !suggestion.is_empty() {
        let _ = writeln!(out, "suggestion: {}", one_line(suggestion, detail.words));
    }
    let _ = write!(out, "hint: {}", hint(failure, detail));
    out
}

/// Writes the problems of a call that has several: those of one file together, with what they share.
fn several(out: &mut String, failure: &Failure, detail: Detail) {
    let problems = failure.problems.get(..detail.problems).unwrap_or(&failure.problems);
    let is_told_last = shared_hint(failure, detail).is_some();
    let hints = sharing::alike(problems.iter().map(|problem| hint_of(problem, detail)));
    let is_own = |index: usize| hints.iter().any(|(_, indices)| *indices == [index]);
    for (number, group) in sharing::by_file(problems).into_iter().enumerate() {
        let of_group = || group.problems.iter().filter_map(|index| Some((*index, problems.get(*index)?)));
        let (hash, total) = (
            sharing::of_all(of_group().map(|(_, problem)| problem.file_hash.as_ref())),
            sharing::of_all(of_group().map(|(_, problem)| problem.total_lines)),
        );
        match group.file_path {
            Some(path) => {
                let _ = writeln!(out, "in {}", path_by_itself(&clipped(path, detail.words)));
            }
            None if number > 0 => out.push_str("in the call\n"),
            None => {}
        }
        facts(out, hash, total);
        let mut before: Option<&Problem> = None;
        for (index, problem) in of_group() {
            if out.len() > HOPELESS {
                return;
            }
            let _ = write!(out, "problem {}: ", index + 1);
            if index == 0 {
                out.push_str("as above");
            } else {
                let reason = one_line(&reason_after(before, problem, detail), detail.words);
                let gap = if reason.is_empty() { "" } else { ": " };
                let _ = write!(out, "{}{gap}{reason}", problem.code.as_str());
            }
            if let Some(lines) = problem.lines {
                let _ = write!(out, "; in {}", spelled(lines));
            }
            out.push('\n');
            before = Some(problem);
            details(out, problem, detail);
            facts(
                out,
                problem.file_hash.as_ref().filter(|_| hash.is_none()),
                problem.total_lines.filter(|_| total.is_none()),
            );
            let hint = hint_of(problem, detail);
            if !is_told_last && !hint.is_empty() && is_own(index) {
                let _ = writeln!(out, "hint: {}", one_line(hint, detail.words));
            }
        }
    }
    for (hint, indices) in hints.iter().filter(|(hint, indices)| indices.len() > 1 && !hint.is_empty()) {
        if !is_told_last && out.len() <= HOPELESS {
            let _ = writeln!(out, "hint for {}: {}", sharing::numbers(indices), one_line(hint, detail.words));
        }
    }
}

/// Returns the reason of a problem, with the part of the call that it names. A brief one is that part alone
/// if the problem told before has the same reason.
fn reason_after(before: Option<&Problem>, problem: &Problem, detail: Detail) -> String {
    let is_same = |before: &Problem| (before.code, &before.reason) == (problem.code, &problem.reason);
    if detail.brief && before.is_some_and(is_same) && !problem.part.is_empty() {
        return problem.part.trim_end_matches([':', ' ']).to_owned();
    }
    [problem.part.as_str(), &problem.reason].concat()
}

/// Words the reason of the whole failure: that of its first problem, how many there are, and, of an edit,
/// that nothing was written.
fn headline(failure: &Failure, first: &Problem, detail: Detail) -> String {
    let mut reason = one_line(&reason_after(None, first, detail), detail.words);
    let count = failure.problems.len();
    if count > 1 {
        let _ = write!(reason, " (the first of {count} problems)");
    }
    if failure.editing {
        reason.push_str("; nothing was written");
    }
    reason
}

/// Returns the hint that replaces a problem's own, if the text that its own relies on is cut.
fn instead(problem: &Problem, detail: Detail) -> Option<&IfCut> {
    let is_told = |excerpt: &Excerpt| excerpt.is_whole() && !bare(&excerpt.text, detail).1;
    // A hint goes by the text of the place that was found, or else of the named lines, where there is one.
    let is_whole = match (problem.place.as_ref().or(problem.actual.as_ref()), problem.nearest.first()) {
        (Some(actual), _) => is_told(actual),
        (None, best) => best.is_none_or(|best| detail.nearest && is_told(best)),
    };
    problem.if_cut.as_ref().filter(|_| !is_whole)
}

fn hint_of(problem: &Problem, detail: Detail) -> &str {
    instead(problem, detail).map_or(&problem.hint, |instead| &instead.hint)
}

fn suggestion(failure: &Failure, detail: Detail) -> &str {
    let instead = failure.problems.first().and_then(|first| instead(first, detail)?.suggestion);
    instead.map_or(failure.suggestion.as_str(), |tool| tool.name())
}

/// Returns the hint that all problems have in common.
fn shared_hint(failure: &Failure, detail: Detail) -> Option<&str> {
    let first = hint_of(failure.problems.first()?, detail);
    failure.problems.iter().all(|problem| hint_of(problem, detail) == first).then_some(first)
}

fn hint(failure: &Failure, detail: Detail) -> String {
    match shared_hint(failure, detail) {
        Some(hint) => one_line(hint, detail.words),
        None if failure.editing => "put all of these right and send the whole call again".to_owned(),
        None => "correct each of them as its own hint says".to_owned(),
    }
}

fn place(problem: &Problem, detail: Detail) -> String {
    let path = problem.file_path.as_ref();
    let mut out =
        path.map_or_else(String::new, |path| path_by_itself(&clipped(path, detail.words)).into_owned());
    if let Some(lines) = problem.lines {
        let gap = if out.is_empty() { "" } else { " " };
        let _ = write!(out, "{gap}{}", spelled(lines));
    }
    out
}

fn details(out: &mut String, problem: &Problem, detail: Detail) {
    if let Some(actual) = &problem.actual
        && detail.lines > 0
    {
        out.push_str("actual text:\n");
        excerpt(out, actual, detail);
    }
    if !problem.found_at.is_empty() {
        let places: Vec<String> = problem
            .found_at
            .iter()
            .enumerate()
            .take(detail.places)
            .map(|(index, at)| format!("{}{}", spelled(*at), told_apart(problem, index, detail)))
            .collect();
        let by = problem.found_by.map_or_else(String::new, |by| format!(" ({by})"));
        let _ = writeln!(out, "found at: {}{by}", places.join(", "));
        if let Some(place) = problem.place.as_ref().filter(|_| detail.lines > 0) {
            excerpt(out, place, detail);
        }
    }
    if detail.nearest {
        for (index, near) in problem.nearest.iter().take(MAX_PLACES).enumerate() {
            // The text of the lines that the call named stands above.
            let is_told = problem.lines == Some(near.of) && problem.actual.is_some();
            let as_above = if is_told { ", as above" } else { "" };
            let apart =
                if problem.found_at.is_empty() { told_apart(problem, index, detail) } else { String::new() };
            let _ = writeln!(out, "similar: {}{as_above}{apart}", spelled(near.of));
            if !is_told {
                excerpt(out, near, detail);
            }
        }
    }
    if let Some(UndoConflict { diff, later }) = problem.conflict.as_deref() {
        out.push_str("the edit to be undone:\n");
        diff_lines(out, diff, detail);
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let _ =
                writeln!(out, "in the way: edit {edit_id}, made {time} by {}", one_line(tool, detail.words));
            diff_lines(out, diff, detail);
        }
    }
}

/// Says what tells one of several places apart, as the end of its name.
fn told_apart(problem: &Problem, index: usize, detail: Detail) -> String {
    let landmarks = problem.landmarks.get(index).and_then(Option::as_ref).filter(|_| detail.tells_apart());
    landmarks.map_or_else(String::new, |landmarks| format!(" ({landmarks})"))
}

/// Writes the digest of a file and the number of its lines, as far as they are given.
fn facts(out: &mut String, file_hash: Option<&Digest>, total_lines: Option<u64>) {
    if let Some(digest) = file_hash {
        let _ = writeln!(out, "file_hash: {}", digest.short());
    }
    if let Some(lines) = total_lines {
        let _ = writeln!(out, "total_lines: {lines}");
    }
}

/// Writes as much of a diff as is told; it has no line numbers besides its own.
fn diff_lines(out: &mut String, diff: &str, detail: Detail) {
    let (shown, cut) = bare(diff, detail);
    out.push_str(&shown);
    if !shown.is_empty() && !shown.ends_with('\n') {
        out.push('\n');
    }
    if cut {
        out.push_str("[cut]\n");
    }
}

/// Writes the lines that are told, each behind its number, and where any are left out.
fn excerpt(out: &mut String, excerpt: &Excerpt, detail: Detail) {
    let Excerpt { of, start, from_char, .. } = excerpt;
    if *from_char > 1 {
        let _ = writeln!(out, "[cut; from character {from_char} of line {start} on]");
    } else if *start != of.start() {
        out.push_str("[cut]\n");
    }
    let mut cut = excerpt.truncated;
    let mut number = start.get();
    let mut lines = excerpt.text.split_inclusive('\n');
    for content in lines.by_ref().take(detail.lines) {
        let content = content.strip_suffix('\n').unwrap_or(content);
        let (shown, clipped) = clip(content, detail.width);
        cut |= clipped;
        let _ = writeln!(out, "{number}\t{shown}{}", if clipped { "…" } else { "" });
        number = number.saturating_add(1);
    }
    if cut || lines.next().is_some() {
        out.push_str("[cut]\n");
    }
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
    let (shown, clipped) = clip(text, most);
    let mut out = on_one_line(shown);
    if clipped {
        out.push('…');
    }
    out
}

/// Returns the first `most` characters, and whether that is not all.
fn clip(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), true),
        None => (text, false),
    }
}

fn clipped(text: &str, most: usize) -> String {
    let (shown, cut) = clip(text, most);
    if cut { format!("{shown}…") } else { shown.to_owned() }
}

fn json_in(failure: &Failure, detail: Detail) -> Value {
    let code = failure.problems.first().map_or("internal_error", |problem| problem.code.as_str());
    let reason = failure.problems.first().map_or_else(String::new, |first| headline(failure, first, detail));
    let call_hint = hint(failure, detail);
    let problems = failure.problems.get(..detail.problems).unwrap_or(&failure.problems);
    // An item without a path would be taken for one of the file before it.
    let may_share = detail.once && problems.iter().all(|problem| problem.file_path.is_some());
    let mut errors = Vec::new();
    let mut size = 0;
    let mut shared = Shared { hint: Some(&call_hint), ..Shared::default() };
    for problem in problems {
        if size > HOPELESS {
            break;
        }
        let item = problem_in(problem, detail, if may_share { shared } else { Shared::default() });
        shared.pass(problem, detail);
        size += item.to_string().len();
        errors.push(item);
    }
    let mut out = json!({
        "result": "error",
        "code": code,
        "reason": reason,
        "suggestion": clipped(suggestion(failure, detail), detail.words),
        "hint": call_hint,
        "errors": errors,
    });
    let left = failure.problems.len().saturating_sub(detail.problems);
    if let (true, Some(map)) = (left > 0, out.as_object_mut()) {
        map.insert("errors_not_shown".to_owned(), json!(left));
    }
    out
}

/// The parts that an item of `errors` need not tell, because one before it does.
#[derive(Clone, Copy, Default)]
struct Shared<'a> {
    /// The problem before.
    before: Option<&'a Problem>,
    file_hash: Option<&'a Digest>,
    total_lines: Option<u64>,
    /// The hint of the item before, or of the call.
    hint: Option<&'a str>,
}

impl<'a> Shared<'a> {
    fn is_of_same_file(&self, problem: &Problem) -> bool {
        self.before.is_some_and(|before| before.file_path == problem.file_path)
    }

    /// Goes on to the next item.
    fn pass(&mut self, problem: &'a Problem, detail: Detail) {
        if !self.is_of_same_file(problem) {
            (self.file_hash, self.total_lines) = (None, None);
        }
        self.file_hash = problem.file_hash.as_ref().or(self.file_hash);
        self.total_lines = problem.total_lines.or(self.total_lines);
        self.hint = Some(hint_of(problem, detail));
        self.before = Some(problem);
    }
}

fn problem_in(problem: &Problem, detail: Detail, shared: Shared<'_>) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    let is_same_file = shared.is_of_same_file(problem);
    if let Some(path) = problem.file_path.as_ref().filter(|_| !is_same_file) {
        put("file_path", json!(clipped(path, detail.words)));
    }
    put("code", json!(problem.code.as_str()));
    let mut reason = reason_after(shared.before, problem, detail);
    if detail.tells_apart() {
        reason.push_str(&apart(problem));
    }
    put("reason", json!(clipped(&reason, detail.words)));
    let hint = hint_of(problem, detail);
    if shared.hint != Some(hint) {
        put("hint", json!(clipped(hint, detail.words)));
    }
    if let Some(lines) = problem.lines {
        put("start", json!(lines.start().get()));
        put("end", json!(lines.end()));
    }
    if let Some(actual) = &problem.actual {
        put_excerpt(&mut put, actual, detail);
    }
    if !problem.found_at.is_empty() {
        let places = problem.found_at.iter().take(detail.places).map(|at| {
            let mut place = range_json(*at);
            if let (Some(by), Some(map)) = (problem.found_by, place.as_object_mut()) {
                map.insert("by".to_owned(), json!(by));
            }
            place
        });
        put("found_at", places.collect());
    }
    let similar: Vec<&Excerpt> = problem.place.iter().chain(&problem.nearest).collect();
    if detail.nearest && !similar.is_empty() {
        let similar = similar.into_iter().take(MAX_PLACES).map(|near| {
            let mut out = range_json(near.of);
            if let Some(map) = out.as_object_mut() {
                put_excerpt(&mut |key, value| _ = map.insert(key.to_owned(), value), near, detail);
            }
            out
        });
        put("nearest", similar.collect());
    }
    if let Some(UndoConflict { diff, later }) = problem.conflict.as_deref() {
        put("diff", json!(bare(diff, detail).0));
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let tool = clipped(tool, detail.words);
            put(
                "later",
                json!({"edit_id": edit_id, "time": time, "tool": tool, "diff": bare(diff, detail).0}),
            );
        }
    }
    if let Some(digest) =
        problem.file_hash.as_ref().filter(|hash| !is_same_file || shared.file_hash != Some(hash))
    {
        put("file_hash", json!(digest.to_string()));
    }
    if let Some(lines) =
        problem.total_lines.filter(|lines| !is_same_file || shared.total_lines != Some(*lines))
    {
        put("total_lines", json!(lines));
    }
    Value::Object(out)
}

/// Says what tells the places apart, as the end of a reason.
fn apart(problem: &Problem) -> String {
    let nearest = problem.nearest.iter().map(|near| &near.of).filter(|_| problem.found_at.is_empty());
    let places = problem.found_at.iter().chain(nearest).zip(&problem.landmarks);
    let told = places.filter_map(|(at, landmarks)| Some(format!("{} {}", spelled(*at), landmarks.as_ref()?)));
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
}

/// Adds the text that is told, and marks what is left out of it.
fn put_excerpt(put: &mut impl FnMut(&str, Value), excerpt: &Excerpt, detail: Detail) {
    let (text, cut) = bare(&excerpt.text, detail);
    put("actual", json!(text));
    if cut || !excerpt.is_whole() {
        put("actual_truncated", json!(true));
    }
    if excerpt.start != excerpt.of.start() {
        put("actual_start", json!(excerpt.start.get()));
    }
    if excerpt.from_char > 1 {
        put("actual_from_char", json!(excerpt.from_char));
    }
}

fn range_json(lines: LineRange) -> Value {
    json!({"start": lines.start().get(), "end": lines.end()})
}

/// Returns the lines that are told, without numbers, and whether anything was left out.
fn bare(text: &str, detail: Detail) -> (String, bool) {
    let mut out = String::new();
    let mut cut = false;
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref().take(detail.lines) {
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        let (shown, clipped) = clip(content, detail.width);
        cut |= clipped;
        out.push_str(shown);
        out.push_str(end);
    }
    let more = lines.next().is_some();
    (out, cut || more)
}
