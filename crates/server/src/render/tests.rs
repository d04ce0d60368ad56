//! Tests the layout of a failure, and the shortening of a long one.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::rejection::{ContextLine, Excerpt, MatchKind, MatchPlace, Normalization};
use proptest::prelude::*;
use serde_json::Value;

use super::layout::{LIMIT, json, problem_json, problem_text, text};
use crate::problem::{Code, Failure, Problem};

fn lines(start: u64, end: u64) -> LineRange {
    LineRange::inclusive(start, end).unwrap()
}

fn excerpt(of: LineRange, text: &str, truncated: bool) -> Excerpt {
    Excerpt { of, start: of.start(), from_char: 1, text: text.to_owned(), truncated, digest: None }
}

/// Returns a place where the wanted text stands.
fn match_place(lines: LineRange) -> MatchPlace {
    let how = MatchKind::Lines(Normalization::Exact);
    MatchPlace { lines, how, digest: None, text: None, differs_at: None, context: None }
}

/// Returns a place that is like the wanted text, and is shown.
fn similar(text: Excerpt) -> MatchPlace {
    let (how, lines) = (MatchKind::Fuzzy, text.of);
    MatchPlace { how, text: Some(text), ..match_place(lines) }
}

fn full() -> Problem {
    let digest = Some(Digest::of(b"x"));
    let actual = Excerpt { digest, ..excerpt(lines(5, 6), "\tlet a = 1;\nb\n", false) };
    Problem {
        lines: Some(lines(5, 6)),
        actual: Some(actual),
        places: vec![
            match_place(lines(8, 9)),
            match_place(lines(20, 20)),
            similar(excerpt(lines(30, 31), "    let a = 1;\nc\n", false)),
        ],
        file_hash: Some(Digest::of(b"")),
        ..Problem::new(Code::ContentMismatch, "lines 5-6 do not hold old_string", "use the range 8-9")
            .of_file("/abs/app.rs")
    }
}

#[test]
fn one_problem_with_everything() {
    let failure = Failure::of(full(), "patch_text_file_contents", true);
    insta::assert_snapshot!(text(&failure), @"
    error: content_mismatch: lines 5-6 do not hold old_string; nothing was written
    /abs/app.rs lines 5-6 file_hash e3b0c44298fc1c14 range_hash 2d711642b726b044
    5		let a = 1;
    6	b
    /abs/app.rs lines 30-31 file_hash e3b0c44298fc1c14
    30	    let a = 1;
    31	c
    found at: lines 8-9, line 20
    suggestion: patch_text_file_contents
    hint: use the range 8-9
    ");
    insta::assert_snapshot!(json(&failure), @r#"{"result":"error","code":"content_mismatch","reason":"lines 5-6 do not hold old_string; nothing was written","suggestion":"patch_text_file_contents","hint":"use the range 8-9","errors":[{"file_path":"/abs/app.rs","code":"content_mismatch","reason":"lines 5-6 do not hold old_string","hint":"use the range 8-9","start":5,"end":6,"actual":"\tlet a = 1;\nb\n","range_hash":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","found_at":[{"start":8,"end":9},{"start":20,"end":20}],"nearest":[{"start":30,"end":31,"actual":"    let a = 1;\nc\n"}],"file_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}"#);
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
    in "/abs/b\nerror: x"
    problem 1: as above
    hint: create it
    in /abs/app.rs
    problem 2: content_mismatch: lines 5-6 do not hold old_string; in lines 5-6
    /abs/app.rs lines 5-6 file_hash e3b0c44298fc1c14 range_hash 2d711642b726b044
    5		let a = 1;
    6	b
    /abs/app.rs lines 30-31 file_hash e3b0c44298fc1c14
    30	    let a = 1;
    31	c
    found at: lines 8-9, line 20
    hint: use the range 8-9
    in the call
    problem 3: invalid_arguments: `files` is missing
    hint: send files
    suggestion: get_it
    hint: correct each of them as its own hint says
    "#);
}

/// As many problems as there is room for are reported in full; the others are shortened, or counted.
#[test]
fn what_is_too_long_is_told_in_short() {
    let text_of = |count: usize, bytes: usize| {
        let mut problem = full();
        problem.actual = Some(excerpt(lines(5, 6), &"x".repeat(bytes), false));
        problem.places = vec![match_place(lines(8, 9))];
        text(&Failure { problems: vec![problem; count], suggestion: "patch".to_owned(), editing: true })
    };
    let one = text_of(1, 3_000);
    assert!(one.contains("5\txxx") && one.ends_with("suggestion: patch\nhint: use the range 8-9"), "{one}");
    let four = text_of(4, 3_000);
    assert_eq!(
        (four.matches("5\txxx").count(), four.matches("found at: lines 8-9").count()),
        (2, 4),
        "{four}"
    );
    let long = text_of(1, 5_000);
    assert!(!long.contains("xxx") && long.contains("found at: lines 8-9"), "{long}");
    let many = text_of(1_000, 100);
    assert!(many.contains("problem 10:") && many.contains("more problems are not shown]"), "{many}");
    assert!(many.chars().count() > LIMIT * 9 / 10, "{}", many.chars().count());
}

/// Returns words of an error: short words, long words, and words that grow when they are escaped.
fn words() -> impl Strategy<Value = String> {
    let long = |text: &str, count: usize| Just(text.repeat(count));
    prop_oneof!["\\PC{0,40}", long("\u{1}", 9_000), long("\"\\", 9_000), long("é\n", 500), long("\u{7}", 300)]
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
            places: vec![match_place(far); places]
                .into_iter()
                .chain(vec![similar(Excerpt { from_char: u64::MAX, ..excerpt(far, &nearest, true) }); 5])
                .collect(),
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

/// Returns an ambiguous patch, by its index in the call.
fn ambiguous(index: usize, path: &str, places: &[u64]) -> Problem {
    Problem {
        part: format!("files[0].patches[{index}]: "),
        places: places
            .iter()
            .map(|line| MatchPlace {
                context: Some(ContextLine {
                    line: LineNumber::FIRST,
                    is_above: true,
                    text: "fn a_name_that_tells_it_apart() {".to_owned(),
                }),
                ..match_place(lines(*line, line + 2))
            })
            .collect(),
        file_hash: Some(Digest::of(b"")),
        ..Problem::new(
            Code::AmbiguousMatch,
            "old_string occurs 2 times",
            "name the place that is meant by \"ranges\"",
        )
        .of_file(path)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn sixty_problems_of_one_file_are_told(
        count in 2_usize..=60, places in prop::collection::vec(1_u64..9_990, 2..12), path in "/[a-z/]{1,150}",
    ) {
        let problems = (0..count).map(|index| ambiguous(index, &path, &places)).collect();
        let failure = Failure { problems, suggestion: "patch_text_file_contents".to_owned(), editing: true };
        let (text, json) = (text(&failure), json(&failure));
        prop_assert!(text.chars().count() < LIMIT && json.chars().count() < LIMIT);
        let told: Value = serde_json::from_str(&json).unwrap();
        let errors = told["errors"].as_array().unwrap();
        prop_assert_eq!(errors.len(), count, "{}", json);
        prop_assert_eq!(text.matches(&format!("in {path}\n")).count(), 1);
        for (index, error) in errors.iter().enumerate() {
            let part = format!("files[0].patches[{index}]");
            prop_assert!(error["reason"].as_str().unwrap().starts_with(&part), "{}", error);
            prop_assert!(error["found_at"].as_array().unwrap().len() >= 2, "{}", error);
            prop_assert!(index == 0 || text.contains(&format!("problem {}: ambiguous_match: {part}", index + 1)), "{}", text);
        }
        prop_assert_eq!(text.matches("found at: ").count(), count, "{}", text);
    }
}
