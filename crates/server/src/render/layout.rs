//! A [`Failure`] as text for a model or as JSON for a program, always shorter than [`LIMIT`] characters.
//!
//! What does not fit is left out in this order: the similar places; the actual text, line by line; the later
//! problems, of which the number is told; at last the ends of overlong reasons, hints and paths.

use std::fmt::Write as _;

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::CLOSEST;
use mcp_text_editor_core::nearest::MAX_PLACES;
use mcp_text_editor_core::rejection::Excerpt;
use serde_json::{Map, Value, json};

use super::escape::{json_text, on_one_line, path_by_itself};
use crate::problem::{Conflict, Failure, IfCut, Later, Problem};
use crate::room::Room;

/// An error is shorter than this many characters, whatever the call held.
pub const LIMIT: usize = 8_000;

/// No problem takes fewer characters than this, so that there is no need to try more of them.
const LEAST_PROBLEM: usize = 20;

/// A text of so many bytes has too many characters in any case, so that writing on is useless.
const HOPELESS: usize = 4 * LIMIT;

/// How much of a failure is told.
#[derive(Clone, Copy)]
struct Detail {
    nearest: bool,
    /// Lines of an excerpt.
    lines: usize,
    /// Characters of a line of an excerpt.
    width: usize,
    problems: usize,
    /// Characters of a reason, hint, path or tool name.
    words: usize,
}

/// The steps before problems are left out. `problems` and `words` are filled in later.
const EXCERPTS: [(bool, usize, usize); 5] =
    [(true, 20, LIMIT), (false, 20, LIMIT), (false, 10, 400), (false, 5, 200), (false, 2, 80)];
/// The steps after that, when even the first problem alone is too long.
const WORDS: [usize; 5] = [4_000, 2_000, 1_000, 400, 100];

/// Renders the failure as text: `error: CODE: REASON`, each problem with its place, text and hint, then `suggestion:`
/// and `hint:`.
#[must_use]
pub fn text(failure: &Failure) -> String {
    fit(failure, None, text_in)
}

/// Renders the failure as text for a client that shows so much of it.
#[must_use]
pub fn text_within(failure: &Failure, room: &Room) -> String {
    fit(failure, Some(room), text_in)
}

/// Renders the failure as one JSON object on one line.
#[must_use]
pub fn json(failure: &Failure) -> String {
    fit(failure, None, |failure, detail| json_text(&json_in(failure, detail)))
}

/// Renders the failure as JSON for a client that shows so much of it.
#[must_use]
pub fn json_within(failure: &Failure, room: &Room) -> String {
    fit(failure, Some(room), |failure, detail| json_text(&json_in(failure, detail)))
}

/// Renders one problem as text, for a file that failed among others that did not: `error: CODE: REASON`, where and
/// what, `hint:`.
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
    problem_in(problem, detail)
}

fn fit(failure: &Failure, room: Option<&Room>, render: impl Fn(&Failure, Detail) -> String) -> String {
    fitting(failure, room, render).0
}

/// Returns the fullest rendering that is short enough, and how full it is.
fn fitting(
    failure: &Failure,
    room: Option<&Room>,
    render: impl Fn(&Failure, Detail) -> String,
) -> (String, Detail) {
    let fits = |text: &str| text.chars().count() < LIMIT && room.is_none_or(|room| room.admits(text));
    let attempt = |detail| Some(render(failure, detail)).filter(|text| fits(text));
    let all = failure.problems.len();
    let most = all.min(LIMIT / LEAST_PROBLEM);
    let mut detail = Detail { nearest: true, lines: 0, width: 0, problems: all, words: LIMIT };
    for (nearest, lines, width) in EXCERPTS {
        detail = Detail { nearest, lines, width, ..detail };
        if all == most
            && let Some(text) = attempt(detail)
        {
            return (text, detail);
        }
    }
    // The length grows with the number of problems, so halving finds the most that fit.
    let (mut fits, mut too_many) = (None, most + 1);
    let mut low = 1;
    while low < too_many {
        let middle = low.midpoint(too_many);
        detail.problems = middle;
        match attempt(detail) {
            Some(text) => {
                fits = Some((text, detail));
                low = middle + 1;
            }
            None => too_many = middle,
        }
    }
    if let Some(fits) = fits {
        return fits;
    }
    detail.problems = 1;
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
    let several = failure.problems.len() > 1;
    let shared = shared_hint(failure, detail);
    for (index, problem) in failure.problems.iter().take(detail.problems).enumerate() {
        if out.len() > HOPELESS {
            break;
        }
        let place = place(problem, detail);
        if several {
            let _ = write!(out, "problem {}: ", index + 1);
            if index == 0 {
                out.push_str("as above");
            } else {
                let reason = one_line(&problem.reason, detail.words);
                let _ = write!(out, "{}: {reason}", problem.code.as_str());
            }
            if !place.is_empty() {
                let _ = write!(out, "; in {place}");
            }
            out.push('\n');
        } else if !place.is_empty() {
            let _ = writeln!(out, "in {place}");
        }
        details(&mut out, problem, detail);
        let hint = hint_of(problem, detail);
        if several && shared.is_none() && !hint.is_empty() {
            let _ = writeln!(out, "hint: {}", one_line(hint, detail.words));
        }
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

/// Words the reason of the whole failure: that of its first problem, how many there are, and that nothing was
/// written.
fn headline(failure: &Failure, first: &Problem, detail: Detail) -> String {
    let mut reason = one_line(&first.reason, detail.words);
    let count = failure.problems.len();
    if count > 1 {
        let _ = write!(reason, " (the first of {count} problems)");
    }
    if failure.editing {
        reason.push_str("; nothing was written");
    }
    reason
}

/// Returns the hint that replaces a problem's own, if the text that this goes by is cut.
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
        let places: Vec<String> = problem.found_at.iter().take(CLOSEST).map(|at| spelled(*at)).collect();
        let by = problem.found_by.map_or_else(String::new, |by| format!(" ({by})"));
        let _ = writeln!(out, "found at: {}{by}", places.join(", "));
        if let Some(place) = problem.place.as_ref().filter(|_| detail.lines > 0) {
            excerpt(out, place, detail);
        }
    }
    if detail.nearest {
        for near in problem.nearest.iter().take(MAX_PLACES) {
            // The text of the lines that the call named stands above.
            let is_told = problem.lines == Some(near.of) && problem.actual.is_some();
            let _ = writeln!(out, "similar: {}{}", spelled(near.of), if is_told { ", as above" } else { "" });
            if !is_told {
                excerpt(out, near, detail);
            }
        }
    }
    if let Some(Conflict { diff, later }) = problem.conflict.as_deref() {
        out.push_str("the edit to be undone:\n");
        diff_lines(out, diff, detail);
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let _ =
                writeln!(out, "in the way: edit {edit_id}, made {time} by {}", one_line(tool, detail.words));
            diff_lines(out, diff, detail);
        }
    }
    if let Some(digest) = &problem.file_hash {
        let _ = writeln!(out, "file_hash: {}", digest.short());
    }
    if let Some(lines) = problem.total_lines {
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

/// Returns the text on one line of at most `most` characters, with line breaks spelled out, so that a path cannot
/// forge a line.
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
    let mut errors = Vec::new();
    let mut size = 0;
    for problem in failure.problems.iter().take(detail.problems) {
        if size > HOPELESS {
            break;
        }
        let problem = problem_in(problem, detail);
        size += problem.to_string().len();
        errors.push(problem);
    }
    let mut out = json!({
        "result": "error",
        "code": code,
        "reason": reason,
        "suggestion": clipped(suggestion(failure, detail), detail.words),
        "hint": hint(failure, detail),
        "errors": errors,
    });
    let left = failure.problems.len().saturating_sub(detail.problems);
    if let (true, Some(map)) = (left > 0, out.as_object_mut()) {
        map.insert("errors_not_shown".to_owned(), json!(left));
    }
    out
}

fn problem_in(problem: &Problem, detail: Detail) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    if let Some(path) = &problem.file_path {
        put("file_path", json!(clipped(path, detail.words)));
    }
    put("code", json!(problem.code.as_str()));
    put("reason", json!(clipped(&problem.reason, detail.words)));
    put("hint", json!(clipped(hint_of(problem, detail), detail.words)));
    if let Some(lines) = problem.lines {
        put("start", json!(lines.start().get()));
        put("end", json!(lines.end()));
    }
    if let Some(actual) = &problem.actual {
        put_excerpt(&mut put, actual, detail);
    }
    if !problem.found_at.is_empty() {
        let places = problem.found_at.iter().take(CLOSEST).map(|at| {
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
    if let Some(Conflict { diff, later }) = problem.conflict.as_deref() {
        put("diff", json!(bare(diff, detail).0));
        if let Some(Later { edit_id, time, tool, diff }) = later {
            let tool = clipped(tool, detail.words);
            put(
                "later",
                json!({"edit_id": edit_id, "time": time, "tool": tool, "diff": bare(diff, detail).0}),
            );
        }
    }
    if let Some(digest) = &problem.file_hash {
        put("file_hash", json!(digest.to_string()));
    }
    if let Some(lines) = problem.total_lines {
        put("total_lines", json!(lines));
    }
    Value::Object(out)
}

/// Adds the text that is told, and what is left out of it.
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

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::digest::Digest;
    use proptest::prelude::*;

    use super::*;
    use crate::problem::Code;
    use crate::tool_id::ToolId;

    fn lines(start: u64, end: u64) -> LineRange {
        LineRange::inclusive(start, end).unwrap()
    }

    fn excerpt(of: LineRange, text: &str, truncated: bool) -> Excerpt {
        Excerpt { of, start: of.start(), from_char: 1, text: text.to_owned(), truncated }
    }

    fn full() -> Problem {
        Problem {
            lines: Some(lines(5, 6)),
            actual: Some(excerpt(lines(5, 6), "\tlet a = 1;\nb\n", false)),
            found_at: vec![lines(8, 9), lines(20, 20)],
            nearest: vec![excerpt(lines(30, 31), "    let a = 1;\nc\n", false)],
            file_hash: Some(Digest::of(b"")),
            ..Problem::new(Code::ContentMismatch, "lines 5-6 do not hold old_string", "use the range 8-9")
                .of_file("/abs/app.rs")
        }
    }

    #[test]
    fn one_problem_with_everything() {
        let failure = Failure::of(full(), "patch_text_file_contents", true);
        insta::assert_snapshot!(text(&failure), @r"
        error: content_mismatch: lines 5-6 do not hold old_string; nothing was written
        in /abs/app.rs lines 5-6
        actual text:
        5		let a = 1;
        6	b
        found at: lines 8-9, line 20
        similar: lines 30-31
        30	    let a = 1;
        31	c
        file_hash: e3b0c44298fc1c14
        suggestion: patch_text_file_contents
        hint: use the range 8-9
        ");
        insta::assert_snapshot!(json(&failure), @r#"{"result":"error","code":"content_mismatch","reason":"lines 5-6 do not hold old_string; nothing was written","suggestion":"patch_text_file_contents","hint":"use the range 8-9","errors":[{"file_path":"/abs/app.rs","code":"content_mismatch","reason":"lines 5-6 do not hold old_string","hint":"use the range 8-9","start":5,"end":6,"actual":"\tlet a = 1;\nb\n","found_at":[{"start":8,"end":9},{"start":20,"end":20}],"nearest":[{"start":30,"end":31,"actual":"    let a = 1;\nc\n"}],"file_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}"#);
    }

    #[test]
    fn several_problems_are_numbered_and_keep_their_hints() {
        let other =
            Problem::new(Code::NotFound, "there is no such\nfile", "create it").of_file("/abs/b\nerror: x");
        let bare = Problem::new(Code::InvalidArguments, "`files` is missing", "send files");
        let failure =
            Failure { problems: vec![other, full(), bare], suggestion: "get_it".to_owned(), editing: false };
        insta::assert_snapshot!(text(&failure), @r#"
        error: not_found: there is no such\nfile (the first of 3 problems)
        problem 1: as above; in "/abs/b\nerror: x"
        hint: create it
        problem 2: content_mismatch: lines 5-6 do not hold old_string; in /abs/app.rs lines 5-6
        actual text:
        5		let a = 1;
        6	b
        found at: lines 8-9, line 20
        similar: lines 30-31
        30	    let a = 1;
        31	c
        file_hash: e3b0c44298fc1c14
        hint: use the range 8-9
        problem 3: invalid_arguments: `files` is missing
        hint: send files
        suggestion: get_it
        hint: correct each of them as its own hint says
        "#);
    }

    #[test]
    fn what_is_too_long_goes_in_order() {
        let mut long = full();
        long.nearest = vec![excerpt(lines(1, 40), &"similar\n".repeat(40), false); 3];
        long.actual.as_mut().unwrap().text = "x".repeat(300) + "\n";
        let actual = long.actual.as_mut().unwrap();
        actual.text = actual.text.repeat(21);
        let told = |problem: &Problem, count: usize| {
            text(&Failure {
                problems: vec![problem.clone(); count],
                suggestion: String::new(),
                editing: true,
            })
        };
        let one = told(&long, 1);
        assert!(one.contains("\n24\txxx") && one.contains("similar:") && one.contains("[cut]"), "{one}");
        assert!(!one.contains("\n25\txxx"), "{one}");
        long.actual.as_mut().unwrap().text = ("x".repeat(380) + "\n").repeat(20);
        let one = told(&long, 1);
        assert!(one.contains("\n24\txxx") && !one.contains("similar:"), "{one}");
        let four = told(&long, 4);
        assert!(
            four.contains("problem 4") && four.contains("\n9\txxx") && !four.contains("\n10\t"),
            "{four}"
        );
        let many = told(&long, 1_000);
        assert!(many.contains("problem 10:") && many.contains("more problems are not shown]"), "{many}");
        assert!(many.chars().count() > LIMIT * 9 / 10, "{}", many.chars().count());
    }

    /// Words, short and long, and such as grow when they are escaped.
    fn words() -> impl Strategy<Value = String> {
        let long = |text: &str, count: usize| Just(text.repeat(count));
        prop_oneof![
            "\\PC{0,40}",
            long("\u{1}", 9_000),
            long("\"\\", 9_000),
            long("é\n", 500),
            long("\u{7}", 300)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn an_error_is_always_short(
            reason in words(), hint in words(), path in words(), actual in words(), nearest in words(),
            rows in 1_usize..30, count in 1_usize..60, places in 0_usize..40, editing: bool,
        ) {
            let actual = (actual + "\n").repeat(rows);
            let far = lines(u64::MAX - 1, u64::MAX - 1);
            let problem = Problem {
                lines: LineRange::inclusive(1, u64::MAX - 1),
                actual: Some(Excerpt { of: lines(1, u64::MAX - 1), from_char: u64::MAX, ..excerpt(far, &actual, true) }),
                found_at: vec![far; places],
                nearest: vec![Excerpt { from_char: u64::MAX, ..excerpt(far, &nearest, true) }; 5],
                if_cut: Some(IfCut { hint: hint.clone() + "…", suggestion: Some(ToolId::Get) }),
                file_hash: Some(Digest::of(b"")),
                ..Problem::new(Code::OutsideAllowedDirectories, reason.clone(), hint).of_file(path)
            };
            let mut problems = vec![problem; count];
            problems.push(Problem::new(Code::Busy, "x", "y"));
            let failure = Failure { problems, suggestion: reason, editing };
            prop_assert!(text(&failure).chars().count() < LIMIT);
            prop_assert!(json(&failure).chars().count() < LIMIT);
            let first = failure.problems.first().unwrap();
            prop_assert!(problem_text(first).chars().count() < LIMIT);
            prop_assert!(problem_json(first).to_string().chars().count() < LIMIT);
        }
    }
}
