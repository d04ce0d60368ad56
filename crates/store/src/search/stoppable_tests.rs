//! Tests, for any pattern and text, that a search with checks whether to stop finds the same as a search
//! without checks, and that it makes no more steps between two checks than it has announced.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use grep_matcher::Matcher as _;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use proptest::prelude::*;

use crate::search::matcher::{LongLine, Pattern};
use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::stop::{Halted, Stop};
use crate::search::stoppable::Stoppable;

/// A check that answers *stop* after `last` calls. It counts the calls, and keeps the maximum number of steps
/// that a call announced.
struct Counted {
    last: usize,
    questions: AtomicUsize,
    most: AtomicUsize,
}

impl Counted {
    fn until(last: usize) -> Self {
        Self { last, questions: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }
}

impl Stop for Counted {
    fn is_over(&self, steps: usize) -> bool {
        self.most.fetch_max(steps, Ordering::Relaxed);
        self.questions.fetch_add(1, Ordering::Relaxed) >= self.last
    }
}

/// Returns the numbers of the lines that match, or the matcher's error.
fn lines(matcher: impl grep_matcher::Matcher, text: &str) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    let sink = Lossy(|number, _| {
        found.push(number);
        Ok(true)
    });
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::none()).build();
    searcher.search_slice(matcher, text.as_bytes(), sink)?;
    Ok(found)
}

fn patterns() -> impl Strategy<Value = String> {
    let leaves = prop::sample::select(vec![
        "a",
        "b",
        "k",
        "é",
        "ab",
        r"\w",
        r"\W",
        r"\s",
        r"\d",
        r"\pL",
        ".",
        "[^a]",
        "[a-cé]",
        "^",
        "$",
        r"\b",
        r"\B",
        r"(?-u:\b)",
        r"\b{start}",
        r"\A",
        r"\z",
        "",
        r"\r",
    ]);
    leaves.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        let ends = prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}?"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            (inner.clone(), ends).prop_map(|(part, end)| format!("(?:{part}){end}")),
            inner.prop_map(|part| format!("(?i:{part})")),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a", "b", "A", "é", "É", "\u{212A}", "k", "1", " ", "\n", "\n", "\r", "ab", "\u{3042}",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn pauses_change_nothing(pattern in patterns(), text in texts(), ignore_case: bool, literal: bool, steps in 1usize..2_000) {
        let search = Search { literal, ignore_case, ..Search::new(&pattern) };
        let pattern = match Pattern::of(&search) {
            Ok(pattern) => pattern,
            Err(BadSearchPattern::LineEnd) => return Ok(()),
            Err(other) => panic!("{other}"),
        };
        let never = Counted::until(usize::MAX);
        let matcher = Stoppable::new(&pattern, &never, steps);
        match lines(&matcher, &text) {
            Ok(found) => prop_assert_eq!(found, lines(&pattern.regex, &text).unwrap()),
            Err(_) => prop_assert!(!text.is_ascii(), "only word boundaries are undecided, and only there"),
        }
        for line in text.lines().map(str::as_bytes) {
            let wanted = pattern.regex.find(line).unwrap();
            let is_short = line.len() <= (steps / pattern.states.states().len()).max(1);
            match matcher.find(line) {
                Ok(found) if is_short => prop_assert_eq!(found, wanted),
                Ok(found) => prop_assert_eq!(found.is_some(), wanted.is_some()),
                Err(error) => prop_assert!(error == Halted::Undecided && !line.is_ascii()),
            }
            let mut long_line = LongLine::new(&pattern.states, &never, steps);
            if let Ok(end) = long_line.find_end(line) {
                prop_assert_eq!(end.is_some(), wanted.is_some());
                prop_assert!(end.is_none_or(|end| end <= wanted.unwrap().end()), "it ends first");
            }
        }
        // A piece has at least one byte, which takes one step for each state of the pattern. So a check can
        // announce more steps than `steps`.
        let most = steps.max(2 * pattern.states.states().len());
        prop_assert!(never.most.into_inner() <= most);
    }
}

#[test]
fn a_search_stops_in_the_middle_of_a_line_or_a_buffer() {
    let steps = 1 << 18;
    let mut seed = 1u32;
    let mut noise = |a: &str, b: &str| -> String {
        (0..60_000)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if seed >> 31 == 0 { a } else { b }
            })
            .collect()
    };
    let letters = noise("a", "b");
    let texts =
        [letters.clone(), noise("a", "é"), noise("ab ", "é a"), format!("{}\n", &letters[..99]).repeat(600)];
    let patterns = [
        "a(?:[ab]{500}){40}[^ab]",
        "(a|b)*a(a|b){12}c",
        r"(?:\w+\w+)+!",
        r"\b(?:é|a|b| )*\bx",
        "[^x]*[^y]*[^z]*!",
        r"(?s-u:.){3000}\z!",
    ];
    for pattern in patterns {
        let pattern = Pattern::of(&Search::new(pattern)).unwrap();
        for text in &texts {
            for last in [0, 1, 3] {
                let stop = Counted::until(last);
                let matcher = Stoppable::new(&pattern, &stop, steps);
                let line = text.split('\n').next().unwrap_or_default().as_bytes();
                let candidate = matcher.find_candidate_line(text.as_bytes()).map(|found| found.is_some());
                let end =
                    LongLine::new(&pattern.states, &stop, steps).find_end(line).map(|end| end.is_some());
                assert!(candidate != Ok(true) && end != Ok(true));
                let is_decided = candidate != Err(Halted::Undecided) && end != Err(Halted::Undecided);
                assert!(!is_decided || stop.questions.into_inner() > last);
                assert!(stop.most.into_inner() <= steps);
            }
        }
    }
}

#[test]
fn nothing_is_searched_once_nothing_is_wanted() {
    let pattern = Pattern::of(&Search::new("a")).unwrap();
    for is_over in [false, true] {
        let stop = AtomicBool::new(is_over);
        let matcher = Stoppable::new(&pattern, &stop, 1_000);
        assert_eq!(matcher.is_match(b"a"), if is_over { Err(Halted::Stopped) } else { Ok(true) });
    }
}

/// An engine makes at least one step for each byte.
#[test]
fn a_long_line_is_never_followed_without_questions() {
    let (line, steps) = ("a".repeat(60_000), 1_000);
    for pattern in ["x", "x|y{3}", "(?:a|b)*x", r"\bx", "^$"] {
        let pattern = Pattern::of(&Search::new(pattern)).unwrap();
        let never = Counted::until(usize::MAX);
        let mut long_line = LongLine::new(&pattern.states, &never, steps);
        assert_eq!(long_line.find_end(line.as_bytes()), Ok(None));
        assert!(never.questions.into_inner() >= line.len() / steps);
    }
}

#[test]
fn a_pattern_is_weighed_before_it_is_parsed() {
    let of = |pattern: &str| Pattern::of(&Search::new(pattern)).map(|_| ());
    assert_eq!(of(&r"\w".repeat(1 << 20)), Err(BadSearchPattern::TooLong { bytes: 2 << 20, most: 4096 }));
    let text = "a".repeat(4097);
    let literal = Pattern::of(&Search { literal: true, ..Search::new(&text) }).map(|_| ());
    assert_eq!(literal, Err(BadSearchPattern::TooLong { bytes: 4097, most: 4096 }));
    for pattern in
        [r"\w".repeat(2048), "(a{1000}){1000}".to_owned(), "(a?)".repeat(1000), r"(?i)\PL".repeat(500)]
    {
        assert_eq!(of(&pattern), Err(BadSearchPattern::TooLarge), "{pattern}");
    }
    for pattern in [r"\w{100}".to_owned(), "a".repeat(4096), "(a?)".repeat(100), r"(\w+) ".repeat(20)] {
        assert_eq!(of(&pattern), Ok(()), "{pattern}");
    }
}
