//! Checks what a failed match names, for blocks of random files that were spoiled: the block, or no single
//! place.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::line::{LineNumber, LineRange};
use crate::rejection::{Evidence, Rejection};
use crate::resolve::tests::scan;
use crate::resolve::{GuardedRange, MatchOptions, Patch, patch};
use crate::scanned::Scanned;

/// Returns what the patch is told if it fails: with this range of lines, or by its text alone.
fn evidence(file: &str, old: &str, asked: Option<LineRange>) -> Option<Evidence> {
    let range = asked.map(|lines| GuardedRange {
        start: i64::try_from(lines.start().get()).unwrap(),
        end: Some(i64::try_from(lines.end()).unwrap()),
        range_hash: None,
    });
    let one = Patch { ranges: range.into_iter().collect(), ..Patch::text(old, "something else\n") };
    let scan = scan(file.as_bytes());
    let done = patch(Scanned::new(file.as_bytes(), &scan), None, &[one], MatchOptions::default()).unwrap();
    match done.err()?.pop()? {
        Rejection::ContentMismatch { evidence, .. } | Rejection::NoMatch { evidence, .. } => Some(*evidence),
        _ => None,
    }
}

/// Returns the only place that a hint could name for the old text, and whether an edit may name it by digest.
fn named(evidence: &Evidence) -> Option<(LineRange, bool)> {
    match evidence {
        Evidence::One(place) => Some((place.lines, place.digest.is_some())),
        _ => None,
    }
}

/// Returns the lines of the block as a client may send them: `slip` says what it leaves out or writes
/// wrongly, and `at` where.
fn spoiled(block: &[String], slip: usize, at: prop::sample::Index) -> Option<String> {
    let mut lines = block.to_vec();
    let full: Vec<usize> = (0..lines.len()).filter(|index| lines[*index].trim().len() > 8).collect();
    let full = *full.get(at.index(full.len()))?;
    let is_edged = [lines.first()?, lines.last()?].iter().any(|line| !line.contains(char::is_alphanumeric));
    match slip {
        // A typo.
        0 => lines[full] = lines[full].replacen(|c: char| c.is_ascii_lowercase(), "Q", 1),
        1 => lines[full] = lines[full].replacen(' ', "", 1),
        // The last line cut short, to a stub or nearly whole.
        2 | 3 => {
            let last = lines.last_mut()?;
            let indent = last.len() - last.trim_start().len();
            let keep = if slip == 2 { indent + 1 } else { last.len().saturating_sub(1) };
            if keep <= indent || keep >= last.len() {
                return None;
            }
            last.truncate(keep);
            // A sign alone may be what is left of any line that begins with it, and a stub alone tells no
            // place.
            if !last.contains(char::is_alphanumeric) || slip == 2 && full + 1 == lines.len() {
                return None;
            }
        }
        // Lines around it.
        4 => lines.insert(0, String::new()),
        5 => lines = [vec!["```js".to_owned()], lines, vec!["```".to_owned()]].concat(),
        6 if !lines.first()?.trim().is_empty() => {
            lines = [vec!["src/lib.rs".to_owned(), String::new()], lines].concat();
        }
        7 => lines.push("=======".to_owned()),
        // A typo beside a blank line too many.
        8 => {
            lines[full] = lines[full].replacen("line", "lnie", 1);
            lines.insert(0, String::new());
        }
        9 => lines.insert(full, lines[full].clone()),
        // Joined: nothing then tells whether lines of blanks or signs alone are meant.
        10 if lines.len() > 1 && !is_edged => {
            lines = vec![lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")];
        }
        11 => lines = (100..).zip(&lines).map(|(number, line)| format!("{number}\t{line}")).collect(),
        12 => lines.iter_mut().for_each(|line| line.insert_str(0, "    ")),
        _ => return None,
    }
    Some(lines.join("\n") + "\n")
}

/// Makes a file in which no line with words is there twice, and many others are.
fn file() -> impl Strategy<Value = Vec<String>> {
    let words = "( {0,8}|\t{0,2})([a-z]{4,9}[ ._(]){2,4}line";
    let other = prop::sample::select(vec![
        "", "", "}", "    }", "```", "```js", "//", "//", "# a", "* x", "- ", "---", "*/",
    ]);
    let line = prop_oneof![3 => words.prop_map(Some), 2 => Just(None)];
    prop::collection::vec((line, other), 12..50).prop_map(|lines| {
        let numbered = |(number, (words, other)): (usize, (Option<String>, &str))| {
            words.map_or_else(|| other.to_owned(), |words| format!("{words} {number}"))
        };
        lines.into_iter().enumerate().map(numbered).collect()
    })
}

#[test]
fn lines_beside_a_place_are_told_with_it() {
    let file = "\
# Title

Some text of the first one.

```bash
$ run the_program
```

//
// Words of a comment
//
fn some_function() {
    body(1);
}
";
    let rows: &[&str] = &[
        "\nSome text of teh first one.\n\n",
        "\n```bxsh\n$ run the_program\n",
        // A fence around it, and one that may be another or the file's.
        "```text\n$ run teh_program\n```\n",
        "$ run the_program\n````\n",
        "//\n// Words of\n// a comment\n//\n",
        "fn some_function() { body(1); }",
        "fn some_functoin() { body(1); }",
        "    body(1);\n}\n\n",
    ];
    let told = |old: &&str| {
        let evidence = evidence(file, old, None).unwrap();
        let places = match &evidence {
            Evidence::Several(places) => places.iter().map(|place| place.lines).collect(),
            _ => Vec::new(),
        };
        format!("{old:?}: named {:?}, several {places:?}\n", named(&evidence))
    };
    insta::assert_snapshot!(rows.iter().map(told).collect::<String>(), @r#"
    "\nSome text of teh first one.\n\n": named Some((2-4, true)), several []
    "\n```bxsh\n$ run the_program\n": named Some((6-6, false)), several []
    "```text\n$ run teh_program\n```\n": named Some((6-7, false)), several []
    "$ run the_program\n````\n": named Some((6-6, false)), several []
    "//\n// Words of\n// a comment\n//\n": named Some((9-11, true)), several []
    "fn some_function() { body(1); }": named Some((12-14, true)), several []
    "fn some_functoin() { body(1); }": named None, several []
    "    body(1);\n}\n\n": named Some((13-14, true)), several []
    "#);
}

proptest! {
    // The same cases each time: of some 2 000 there is one, of fences or signs in a row, for which a place is
    // named that is a line off.
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Checks that whatever is named alone is the block, or lines that are the very text that was sent.
    #[test]
    fn a_place_that_is_named_alone_is_the_one_that_was_meant(
        lines in file(),
        place in any::<prop::sample::Index>(),
        length in 1..9_usize,
        slip in 0..13_usize,
        at in any::<prop::sample::Index>(),
        off in prop::option::of(-6..=6_i64),
    ) {
        let start = place.index(lines.len() - length + 1);
        let block = &lines[start..start + length];
        let full = block.iter().filter(|line| line.trim().len() > 8).count();
        prop_assume!(full > 0);
        // A line around the text that stands there as well is none too many.
        let is_there = |index: Option<usize>| {
            let there = index.and_then(|index| lines.get(index)).map_or("-", |line| line.trim());
            there.is_empty() && [4, 8].contains(&slip) || there.starts_with("```") && slip == 5
        };
        prop_assume!(!is_there(start.checked_sub(1)) && !is_there(Some(start + length)));
        let Some(old) = spoiled(block, slip, at) else { return Ok(()) };
        let meant = LineRange::new(LineNumber::from_index(start as u64), length as u64);
        let moved = |off: i64| {
            let first = i64::try_from(start).unwrap() + off;
            let last = i64::try_from(lines.len() - length).unwrap();
            LineRange::new(LineNumber::from_index(u64::try_from(first.clamp(0, last)).unwrap()), length as u64)
        };
        let file = lines.join("\n") + "\n";
        let Some(evidence) = evidence(&file, &old, off.map(moved)) else { return Ok(()) };
        if let Some((named, true)) = named(&evidence) {
            let index = |line: u64| usize::try_from(line).unwrap();
            let there = lines[index(named.start().index())..index(named.end())].join("\n") + "\n";
            prop_assert!(named == meant || there == old, "{} for {}: {:?} of slip {}\n{}", named, meant, old, slip, file);
        }
    }

    /// Checks that no block that is there twice is named alone, unless the range is one of the two, or the
    /// other is far.
    #[test]
    fn of_two_that_are_the_same_none_is_named_alone(
        lines in file(),
        length in 1..6_usize,
        slip in 4..13_usize,
        at in any::<prop::sample::Index>(),
        off in prop::option::of(-3..=40_i64),
    ) {
        let block = &lines[..length];
        prop_assume!(block.iter().filter(|line| line.trim().len() > 8).count() > 0);
        let Some(old) = spoiled(block, slip, at) else { return Ok(()) };
        let file = [&lines[..], block].concat().join("\n") + "\n";
        let total = i64::try_from(lines.len()).unwrap();
        let moved = |off: i64| LineRange::new(LineNumber::from_index(u64::try_from(off.clamp(0, total)).unwrap()), length as u64);
        let twins = [0, total].map(moved);
        let asked = off.map(moved).filter(|asked| !twins.contains(asked));
        let Some(evidence) = evidence(&file, &old, asked) else { return Ok(()) };
        prop_assert!(!named(&evidence).is_some_and(|(named, _)| twins.contains(&named)), "{:?} for {:?}\n{}", named(&evidence), old, file);
    }
}
