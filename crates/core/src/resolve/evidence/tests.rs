//! Checks the evidence about failed matches, for files and patches that were written by hand.

use crate::line::LineNumber;
use crate::rejection::{Evidence, Fit, MatchPlace, Rejection};
use crate::resolve::tests::{bytes, lines, scan, tag, text};
use crate::resolve::{GuardedRange, MatchOptions, Patch, delete, patch};
use crate::scan::Scanned;

/// Returns for each file the evidence about its last patch that fails.
fn check(rows: &[(&str, &[Patch])]) -> String {
    let tell = |(file, patches): &(&str, &[Patch])| {
        let scan = scan(file.as_bytes());
        let scanned = Scanned::new(file.as_bytes(), &scan);
        let Ok(Err(mut rejections)) = patch(scanned, None, patches, MatchOptions::default()) else {
            return "it succeeds\n".to_owned();
        };
        match rejections.pop() {
            Some(
                Rejection::ContentMismatch { evidence, .. }
                | Rejection::NoMatch { evidence, .. }
                | Rejection::RangeHashMismatch { evidence, .. },
            ) => brief(&evidence),
            other => format!("{other:?}\n"),
        }
    };
    rows.iter().map(tell).collect::<Vec<_>>().concat()
}

/// Returns the kind of evidence, and its places: how each matches, a `#` if it has a digest, and its
/// distinguishing line.
fn brief(evidence: &Evidence) -> String {
    let place = |place: &MatchPlace| {
        let hash = if place.digest.is_some() { "#" } else { "" };
        let beside = place.context.as_ref().map_or_else(String::new, |line| {
            format!(" {}{}", if line.is_above { "below " } else { "above " }, line.text)
        });
        let differs = place.differs_at.map_or_else(String::new, |line| format!(" from {line}"));
        format!("{}{hash} {:?}{differs}{beside}", place.lines, place.how)
    };
    let told = match evidence {
        Evidence::NotSearched => "not searched".to_owned(),
        Evidence::Applied(one) => {
            format!("applied {}{}", one.lines, if one.text.is_some() { "" } else { " (not shown)" })
        }
        Evidence::After { patch, merged } => format!("after patch {}: {merged:?}", patch.patch),
        Evidence::One(one) => format!("one {}", place(one)),
        Evidence::Several(all) => format!("several {}", all.iter().map(place).collect::<Vec<_>>().join(", ")),
        Evidence::Nothing(Some(one)) => format!("nothing; {}", place(one)),
        Evidence::Nothing(None) => "nothing".to_owned(),
    };
    told + "\n"
}

/// Returns the excerpt that a rejection shows of the lines that a patch names.
fn shown(file: &str, patch_of_lines: Patch) -> String {
    let scan = scan(file.as_bytes());
    let Ok(done) =
        patch(Scanned::new(file.as_bytes(), &scan), None, &[patch_of_lines], MatchOptions::default());
    match done.unwrap_err().pop() {
        Some(Rejection::ContentMismatch { actual, .. }) => actual.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edit_that_was_made_before() {
    let file = "fn main() {\n    let total = sum(new_values);\n    print(total);\n}\n";
    insta::assert_snapshot!(check(&[
        (file, &[text("let total = sum(values);", "let total = sum(new_values);")]),
        (file, &[lines(2, 2, "    let total = sum(values);\n", "    let total = sum(new_values);\n")]),
        // The range is the one before the edit was made, which inserted a line.
        (file, &[lines(2, 2, "    total();\n", "    let total = sum(new_values);\n    print(total);\n")]),
        // The new text stands elsewhere than in the named lines.
        (file, &[lines(4, 4, "    let total = sum(values);\n", "    let total = sum(new_values);\n")]),
        // The new text is too short to tell its place, or twice in the file.
        (file, &[text("let count", "total")]),
        (file, &[text("something(that, is, not, there)", "    print(total);")]),
        // A new text that is a part of the old text stands wherever the old text does.
        ("first_line();\nother();\n", &[text("first_line();\nsecond_line();\n", "first_line();\n")]),
        ("first_line();\nsecond_line(1);\n", &[text("first_line();\nsecond_line();\n", "first_line();\n")]),
        // The text that was to be removed is still there, though not exactly as it was sent.
        (
            "let limit = 10;\nlet limit = read(config, \"limit\");\n",
            &[text("let limit  = 10 ;", "let limit = read(config, \"limit\");")],
        ),
        // One place is like the old text, and the new text stands elsewhere.
        (
            "alpha(one, two, three);\nbeta();\ngamma();\nalpha(one, two, four);\n",
            &[text("alpha(one, two, thre);", "alpha(one, two, four);")],
        ),
        // The new text stands in the named lines, and the old text elsewhere.
        (
            "    old_call(1);\nbetween();\n    new_call(1);\n",
            &[lines(3, 3, "    old_call(1);\n", "    new_call(1);\n")],
        ),
        // The new text extends beyond the place of the old text, or is next to the named lines.
        (
            "old_call(1);\nkeep();\nold_call(2);\n",
            &[lines(2, 2, "old_call( 1 );\n", "keep();\nold_call(2);\n")],
        ),
        (
            "one();\nnew_text(here);\nthree();\nfour();\nold_text(there);\n",
            &[lines(1, 1, "old_text( there );\n", "new_text(here);\n")],
        ),
        (
            "old_text(there);\ntwo();\nthree();\nfour();\nnew_text(here);\n",
            &[lines(2, 2, "old_text( there );\n", "new_text(here);\n")],
        ),
        ("one();\ntwo();\nnew_text(here);\n", &[lines(1, 1, "qwertyuiop\n", "new_text(here);\n")]),
    ]), @r#"
    applied 2-2
    applied 2-2
    applied 2-3
    one 2-2# Fuzzy from 2
    nothing
    applied 3-3
    several 1-1 Applied
    one 1-2# Fuzzy from 2
    one 1-1# Lines(Layout) from 1
    several 4-4 Applied, 1-1# Fuzzy from 1
    applied 3-3
    several 2-3 Applied, 1-1# Lines(Layout) from 1
    several 2-2 Applied, 5-5# Lines(Layout) from 5
    one 1-1# Lines(Layout) from 1
    several 3-3 Applied
    "#);
}

/// Each text differs from the file by one slip, or by several.
#[test]
fn what_is_undone_in_a_text() {
    let rows = [
        ("a\n\tb();", "a\n    b();\n"),
        ("IF a:\n  b  =  1", "if a:\n    b = 1\n"),
        ("say “hi”, it’s", "say \"hi\", it's\n"),
        ("say 'hi'", "say \"hi\"\n"),
        ("10 km", "10\u{a0}km\n"),
        ("cafe\u{301}", "café\n"),
        ("a\u{200b}b", "ab\n"),
        ("a – b", "a - b\n"),
        ("a -- b", "a — b\n"),
        ("wait…", "wait...\n"),
        ("a b c", "a b\rc\n"),
        ("f(\n    a,\n    b,\n)", "f(a, b)\n"),
        ("f(a, b)", "f(\n  a,\n\n  b,\n)\n"),
        ("// Words of a\n// comment.", "# Words of a comment.\n"),
        ("a-\n-b", "a--b\n"),
        ("a\\n\\tb", "a\n\tb\n"),
        ("a\\r\\nb", "a\nb\n"),
        ("a\\n\n", "a\n\n"),
        ("say(\\\"a\\\")", "say(\"a\")\n"),
        ("a \\u2014 b \\u{2014}", "a — b —\n"),
        ("a\\u+041 \\u{0000041}", "aA A\n"),
        ("\\\\d+", "\\d+\n"),
        ("if a &lt; b &amp;&amp; c &amp;quot;", "if a < b && c \"\n"),
        (" 9\ta\n10\t\tb\n11\n", "a\n\tb\n\n"),
        ("12 | a\n13 |   b", "a\n  b\n"),
        ("1→a\n2→b", "a\nb\n"),
        ("src/a.rs:12:a();\nsrc/a.rs-13-b();", "a();\nb();\n"),
        ("src/a.rs:12:a();\nsrc/a.rs:13:b();", "a();\nb();\n"),
        ("12\n13", "a\nb\n"),
        ("```rust\n1\ta();\n2\tb();\n```", "a();\nb();\n"),
        ("**src/main.rs**:\n\n```rust\na();\n```", "\na();\n"),
        ("<<<<<<< SEARCH\na();\n=======", "a();\n"),
        ("*** Begin Patch\n*** Update File: x.rs\n@@\na();\n*** End Patch", "a();\n"),
        ("<code>\na();\n</code>", "a();\n"),
        ("// ... existing code ...\na();\n// ...", "a();\n"),
        // The file itself has a line that stands for left-out lines.
        ("<p>\na();\n</p>", "<p class=x>\na();\n</p>\n"),
        ("Title\n=====\n\na", "Title\n=====\n\nA\n"),
        ("\n\n", "a\n\n\nb\n"),
    ];
    let rows = rows.map(|(old, file)| format!("{old:?}: {}", check(&[(file, &[text(old, "x")])])));
    insta::assert_snapshot!(rows.concat());
}

#[test]
fn a_patch_that_builds_on_an_earlier_one() {
    insta::assert_snapshot!(check(&[
        ("alpha\n", &[text("alpha", "beta gamma"), text("beta gamma", "delta")]),
        // The earlier new text would have the old text twice, so the two patches cannot be merged.
        ("alpha\n", &[text("alpha", "beta beta"), text("beta", "delta")]),
        // The text extends beyond the earlier patch's new text.
        ("alpha\nomega\n", &[text("alpha", "beta"), text("beta\nomega", "delta")]),
        ("alpha\nomega\n", &[text("alpha", "beta"), lines(2, 2, "beta", "delta")]),
    ]), @r#"
    after patch 0: Some("delta")
    after patch 0: None
    after patch 0: None
    after patch 0: Some("delta")
    "#);
}

#[test]
fn what_stands_elsewhere_or_only_in_part() {
    let list = "start {\n    one();\n    two();\n    three();\n}\nend\n";
    insta::assert_snapshot!(check(&[
        // The named lines lack a line that both texts have.
        (list, &[lines(3, 4, "    one();\n    two();\n    three();\n", "    one();\n    2();\n    three();\n")]),
        (list, &[lines(2, 2, "    one(); two();", "x")]),
        (list, &[lines(2, 4, "    one();\n    three();\n", "x")]),
        (list, &[text("    one();\n    three();\n", "x")]),
        (list, &[text("    one();\n    ...\n    three();\n", "x")]),
        (list, &[text("    one();\n    two();\n    ...\n", "x")]),
        (list, &[lines(2, 2, "three();", "four();")]),
        (list, &[lines(6, 6, "    two( );\n", "x\n")]),
        (list, &[lines(2, 2, "\n", "x")]),
        ("a = 1\nb = 2\na = 1\n", &[lines(2, 2, "a = 1", "x")]),
    ]), @r#"
    one 2-4# Lines(Exact)
    one 2-3# Lines(Layout) from 2
    one 2-4# Gap { left_out: 3-3 } from 3
    one 2-4# Gap { left_out: 3-3 } from 3
    one 2-4# Gap { left_out: 3-3 } from 3
    one 2-3# Lines(Wrapper)
    one 4-4# Lines(Layout) from 4
    one 3-3# Lines(Layout) from 3
    nothing
    several 1-1# Lines(Exact) above b = 2, 3-3# Lines(Exact) below b = 2
    "#);
}

#[test]
fn a_part_of_some_lines() {
    let file = "fn main() {\n    let total = 1;\n    print(total);\n}\n";
    insta::assert_snapshot!(check(&[
        // The new text goes on like the lines, like the part, or like neither.
        (file, &[lines(2, 2, "total = 1", "    let total = 2;")]),
        (file, &[lines(2, 2, "let total = 1", "let total = 2")]),
        (file, &[lines(2, 2, "total = 1;", "total = 2;")]),
        (file, &[lines(2, 2, "total = 1", "total = 2")]),
        (file, &[lines(2, 2, "total = 1", "something")]),
        (file, &[lines(2, 2, "let total = 1;", "let total = 2;")]),
        (file, &[lines(2, 2, "total = 1;\n", "let total = 2;\n")]),
        (file, &[lines(1, 1, "total = 1", "    let total = 2;")]),
        (file, &[lines(2, 3, "total = 1;\n    print", "total = 2;\n    print")]),
        (file, &[lines(2, 2, "    let total =", "    let total = 2")]),
        (file, &[lines(2, 2, "    let total", "    let sum = 1;")]),
        (file, &[lines(2, 2, "total = 1;\n", "    let total = 2;\n")]),
        (file, &[lines(2, 2, "total = 1;\n", "total = 2;\n")]),
        // The new text is there already, within the part that is named.
        ("a = compute(value);\n", &[lines(1, 1, "compute(value)", "(value)")]),
        // The lines begin like the part; and they are all of it but for a slip, while it is a part elsewhere.
        ("one();\ntwo();\n", &[lines(1, 1, "one();\ntw", "x")]),
        ("one(1); two(2);\nbetween\nand one(1);\ntwo(2); too\n", &[lines(1, 1, "one(1);\ntwo(2);", "x")]),
    ]), @r#"
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Lines(Layout) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-3# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 2-2# Part(Exact) from 2
    one 1-1# Part(Exact) from 1
    one 1-2# Part(Exact) from 2
    one 1-1# Lines(Layout) from 1
    "#);
}

#[test]
fn several_places_may_be_meant() {
    let values = "    first_value = compute(1, 2);\nmid\n    first_value = compute(1, 3);\n";
    insta::assert_snapshot!(check(&[
        ("a( 1 );\nmid\na( 1 );\n", &[text("a(1);", "x")]),
        ("top\na( 1 );\nmid\na( 1 );\n", &[lines(3, 3, "a(1);", "x")]),
        ("a( 1 );\na( 1 );\na( 1 );\na( 1 );\n", &[text("a(1);", "x")]),
        // More places than are shown have no distinguishing lines.
        ("call( 1 );\nmid\ncall( 1 );\n", &[text("call(1);", "x")]),
        ("call( 1 );\nmid\ncall( 1 );\nend\ncall( 1 );\nlast\ncall( 1 );\n", &[text("call(1);", "x")]),
        // Similar places. Each differs from the text by more than a typo.
        (values, &[text("first_value = compute(1, 4);", "x")]),
        (values, &[lines(2, 2, "    first_value = compute(1, 4);", "x")]),
        (values, &[lines(3, 3, "    first_value = compute(1, 4);", "x")]),
        (
            &format!("{values}last\n    first_value = compute(1, 5);\n"),
            &[text("first_value = compute(1, 4);", "x")],
        ),
        ("alpha beta gamma delta\n", &[text("gamma epsilon zeta eta theta", "x")]),
        ("one\rtwo and more of it\nthree\n", &[text("onetwo and more of itt", "x")]),
        ("fn main() {\n    call(one, two);\n}\n", &[text("fn main() {\n    call(one, two, three);\n}\n", "x")]),
    ]), @r#"
    several 1-1# Lines(Layout) from 1 above mid, 3-3# Lines(Layout) from 3 below mid
    several 2-2# Lines(Layout) from 2 below top, 4-4# Lines(Layout) from 4 below mid
    several 1-1# Lines(Layout) from 1, 2-2# Lines(Layout) from 2, 3-3# Lines(Layout) from 3
    several 1-1# Lines(Layout) from 1 above mid, 3-3# Lines(Layout) from 3 below mid
    several 1-1# Lines(Layout) from 1, 3-3# Lines(Layout) from 3, 5-5# Lines(Layout) from 5
    several 1-1# Fuzzy from 1 above mid, 3-3# Fuzzy from 3 below mid
    several 1-1# Fuzzy from 1 above mid, 3-3# Fuzzy from 3 below mid
    one 3-3# Fuzzy from 3
    several 1-1# Fuzzy from 1 above mid, 3-3# Fuzzy from 3 below mid, 5-5# Fuzzy from 5 below last
    nothing
    one 1-2# Part(Layout) from 1
    one 1-3# Fuzzy from 2
    "#);
}

#[test]
fn lines_that_moved_are_found_by_their_digest() {
    let guarded = |line: i64, old: &str, new: &str| bytes(line, line, old, new);
    insta::assert_snapshot!(check(&[
        ("a\nb\nc\n", &[guarded(1, "b\n", "x\n")]),
        ("a\nb\nc\nb\n", &[guarded(1, "b\n", "x\n")]),
        ("a\nb\nc\n", &[guarded(1, "gone\n", "x\n")]),
        // The new text already stands in the range, or begins above it.
        ("new line\nb\n", &[guarded(1, "gone\n", "new line\n")]),
        ("new line\nb\n", &[guarded(2, "gone\n", "new line\nb\n")]),
    ]), @r#"
    one 2-2# Lines(Exact)
    several 2-2 Lines(Exact), 4-4 Lines(Exact)
    nothing
    applied 1-1 (not shown)
    nothing
    "#);
}

#[test]
fn of_many_failures_the_last_are_not_searched_for() {
    let file = (1..=9).map(|number| format!("    line{number}();\n")).collect::<Vec<_>>().concat();
    let after = |others: i64, last: &Patch| {
        let others = (1..=others).map(|number| lines(number, number, "absent", "x"));
        check(&[(&file, &others.chain([last.clone()]).collect::<Vec<_>>())])
    };
    for (last, place) in [
        (text("line9( );", "x"), "one 9-9# Lines(Layout) from 9\n"),
        (lines(9, 9, "line9( );", "x"), "one 9-9# Lines(Layout) from 9\n"),
        (bytes(9, 9, "    line8();\n", "x"), "one 8-8# Lines(Exact)\n"),
    ] {
        assert_eq!((after(7, &last).as_str(), after(8, &last).as_str()), (place, "not searched\n"));
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn a_long_line_is_shown_where_it_differs() {
    let long = |middle: &str| format!("{}{middle}{}\n", "word ".repeat(900), " word".repeat(900));
    let of = |word: &str| format!("head\n{}tail\n", long(word));
    let text = shown(&of("OLD"), lines(1, 3, &of("NEW"), "x"));
    assert!(text.starts_with(&format!("{}OLD", "word ".repeat(8))), "{text}");
    // The excerpt of many lines starts at the line before the differing line.
    let many = |line: &str| {
        (1..=400)
            .map(|number| format!("{number} {}\n", if number == 300 { line } else { "same" }))
            .collect::<Vec<_>>()
            .concat()
    };
    let text = shown(&many("OLD"), lines(1, 400, &many("NEW"), "x"));
    assert!(text.starts_with("299 same\n300 OLD\n"), "{text}");
    // It starts at the differing line itself, if the line before it is too long, and goes to the end of the
    // file.
    let last = |word: &str| format!("{}\n{}{word}", "word ".repeat(900), "last ".repeat(20));
    assert_eq!(shown(&last("OLD"), lines(1, 2, &last("NEW"), "x")), format!("{}OLD", "last ".repeat(20)));
    // It starts at the first line, if that shows the difference.
    let first = |word: &str| format!("begin {}{word}\n{}", "word ".repeat(20), "same\n".repeat(400));
    assert!(shown(&first("OLD"), lines(1, 401, &first("NEW"), "x")).starts_with("begin word "));
}

#[test]
fn lines_that_hold_in_a_file_that_has_changed() {
    let fit_of = |before: &str, file: &str, ranges: &[(i64, &str)]| {
        let range = |&(start, bytes): &(i64, &str)| GuardedRange {
            start,
            end: Some(start + i64::try_from(bytes.lines().count()).unwrap() - 1),
            range_hash: Some(tag(bytes)),
        };
        let ranges: Vec<GuardedRange> = ranges.iter().map(range).collect();
        let expected = tag(before);
        let Ok(done) =
            delete(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), Some(&expected), &ranges);
        match done.unwrap_err().as_slice() {
            [Rejection::HashMismatch { fit, .. }, ..] => fit.clone(),
            other => panic!("{other:?}"),
        }
    };
    let fit = |file: &str, ranges: &[(i64, &str)]| fit_of("what it was", file, ranges);
    assert_eq!(fit("a\nb\nc\n", &[(1, "a\n")]), Fit::Holds);
    assert_eq!(fit("a\nb\na\n", &[(1, "a\n")]), Fit::Repeated);
    assert_eq!(fit("a\nb\na\n", &[(2, "b\n"), (3, "a\n")]), Fit::Repeated);
    assert_eq!(fit("a\nb\nc\n", &[(1, "b\n")]), Fit::Broken);
    // The digest of a line was sent as the digest of the file.
    let second = Fit::OfLine(LineNumber::from_index(1));
    assert_eq!(fit_of("b\n", "a\nb\nc\n", &[(1, "a\n")]), second);
    // So many ranges are not searched for.
    let many = (1..=9).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let each: Vec<(i64, &str)> = (1..).zip(many.split_inclusive('\n')).collect();
    assert_eq!(fit(&many, &each[..8]), Fit::Holds);
    assert_eq!(fit(&many, &each), Fit::Repeated);
    // Nor are so many lines in so large a file.
    let many = format!("{}\n", "x".repeat(127)).repeat(512);
    assert_eq!(fit(&many, &[(1, &many)]), Fit::Holds);
    let more = format!("{many}x");
    assert_eq!(fit(&more, &[(1, &many)]), Fit::Repeated);
}

#[test]
fn only_a_text_of_some_length_tells_where_it_was_put() {
    insta::assert_snapshot!(check(&[
        ("one();\ncall(1);\n", &[text("qwertyuiop", "call(1);")]),
        ("one();\ncall(1)\n", &[text("qwertyuiop", "call(1)")]),
    ]), @r#"
    applied 2-2
    nothing
    "#);
}

#[test]
fn what_was_to_go_and_is_still_there_makes_an_edit_doubtful() {
    let rest = "qwertyuiop_asdfghjkl(zxcvbnm);\n";
    let old = |line: &str| format!("{rest}{line}\n");
    insta::assert_snapshot!(check(&[
        // The line itself, though it is short; only its beginning, or its end; and more than it.
        ("n = 1;\nprint_it(total);\n", &[text(&old("n = 1;"), "print_it(total);\n")]),
        ("let total = 5;\nprint_it(total);\n", &[text(&old("let total"), "print_it(total);\n")]),
        ("let total = 12345;\nprint_it(total);\n", &[text(&old("= 12345;"), "print_it(total);\n")]),
        ("let total = 5;\nprint_it(total);\n", &[text(&old("let total = 5; // five"), "print_it(total);\n")]),
        ("other(5);\nprint_it(total);\n", &[text(&old("let total"), "print_it(total);\n")]),
        // A file name above the text is not one of the file's lines.
        (
            "src/main.rs\nlet total = sum(new_values);\n",
            &[text("src/main.rs\nlet total = sum(values);\n", "let total = sum(new_values);\n")],
        ),
        // A line that looks blank counts neither as removed nor as added by the edit.
        ("\nalpha(2);\nbeta(3);\n", &[text("alpha(1);\n\u{200b}\nbeta(3);\n", "alpha(2);\nbeta(3);\n")]),
        ("alpha(1);\n\nbeta(3);\n", &[text("alpha(1);\nbeta(3);\ngamma(5);\n", "alpha(1);\n\nbeta(3);\n")]),
    ]), @r#"
    several 2-2 Applied
    several 2-2 Applied
    several 2-2 Applied
    several 2-2 Applied
    applied 2-2
    applied 2-2
    applied 2-3
    several 1-3 Applied, 1-3 Fuzzy from 2
    "#);
}

#[test]
fn a_new_text_in_or_near_what_is_like_the_old_one() {
    insta::assert_snapshot!(check(&[
        // The new text is as far from the named line as the place of the old text is, or farther.
        (
            "new_text(here);\ntwo();\nthree();\nfour();\nold_text(there);\n",
            &[lines(3, 3, "old_text( there );\n", "new_text(here);\n")],
        ),
        (
            "one();\nnew_text(here);\nthree();\nfour();\nold_text(three, four, five);\n",
            &[lines(1, 1, "old_text(three, for, five);\n", "new_text(here);\n")],
        ),
        // In lines that the asked ones only meet, while the old text stands elsewhere.
        (
            "one\ntwo\nnew_text(here);\nnew_text(there);\nfive\nold_text(x);\n",
            &[lines(2, 3, "old_text(x);\n", "new_text(here);\nnew_text(there);\n")],
        ),
        // The fence was too much: what the edit leaves stood there before.
        ("call(1)\n", &[text("```\ncall(1)\n```\n", "call(1)\n")]),
        // A part of a line of the old text stands where a line like that does.
        (
            "let totl = sum(values) - 1;\nlet other_total = sum(others) - 2;\n",
            &[text("let total = sum(values) + 1;\nlet other_total = sum(others) + 2;\n", "sum(values)")],
        ),
        // One of two lines was changed before, or one of three while another is as it was.
        (
            "alpha(one, two, 3);\nbeta(three, four, 5);\n",
            &[text("alpha(one, two, three);\nbeta(three, four, five);\n", "alpha(one, two, 3);\n")],
        ),
        (
            "alpha(one, 2);\nbeta(three, four);\ngamma(five, six);\n",
            &[text("alpha(one, two);\nbeta(three, four);\ngama(five, six);\n", "alpha(one, 2);\n")],
        ),
        // It holds the place of the old text, or begins where a line like that stands, or is that.
        ("new_call(1);\nold_call(1);\n", &[lines(1, 1, "old_call(1);\n", "new_call(1);\nold_call(1);\n")]),
        (
            "one();\ntwo();\nif three {\n    call( 1 );\n}\n",
            &[lines(1, 1, "call(1);\n", "if three {\n    call( 1 );\n}\n")],
        ),
        (
            "alpha(one, two, four);\nbeta();\n",
            &[text("alpha(one, two, thre);", "alpha(one, two, four);\nbeta();\n")],
        ),
        (
            "one\nbeta(three, four);\ntwo\n",
            &[lines(2, 2, "alpha(one, two);\nbeta(three, four);\n", "beta(three, four);\n")],
        ),
        // It is the whole lines of which the old text is a part, and that stands above with a slip.
        (
            "total = sum( values )\ntotal = 2 * sum(values);\n",
            &[lines(2, 2, "sum(values)", "total = 2 * sum(values);\n")],
        ),
    ]), @r#"
    one 5-5# Lines(Layout) from 5
    several 2-2 Applied, 5-5# Fuzzy from 5
    several 3-4 Applied, 6-6# Lines(Exact)
    one 1-1# Lines(Wrapper) from 1
    one 1-2# Fuzzy from 1
    applied 1-1
    one 1-3# Fuzzy from 1
    applied 1-2
    applied 3-5
    applied 1-2
    several 2-2 Applied, 2-2# Fuzzy from 2
    several 2-2 Applied, 2-2# Part(Exact) from 2
    "#);
}

#[test]
fn an_earlier_patch_is_told_only_where_it_matters() {
    insta::assert_snapshot!(check(&[
        ("alpha\n", &[text("alpha", "beta"), text("gamma", "delta")]),
        // It stands below already, or above, in part of a line.
        ("alpha\nbeta x\n", &[text("alpha", "beta"), lines(2, 2, "beta", "delta")]),
        ("beta x\nalpha\n", &[text("alpha", "beta"), lines(1, 1, "beta", "delta")]),
        // Text with only blanks proves nothing.
        ("alpha\n", &[text("alpha", "one\n\n\n\ntwo"), text("\n\n\n", "x")]),
    ]), @r#"
    nothing
    one 2-2# Part(Exact) from 2
    one 1-1# Part(Exact) from 1
    nothing
    "#);
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn what_earlier_patches_write_is_looked_through_up_to_some_length() {
    let is_told = |file: &str, old: &str| {
        check(&[(file, &[text("alpha", old), text(old, "x")])]).starts_with("after patch 0")
    };
    for (lines, bytes, expected) in
        [(200, 1000, true), (201, 1005, false), (1, 64 * 1024, true), (1, 64 * 1024 + 1, false)]
    {
        let line = "b".repeat(bytes / lines);
        let told = is_told("alpha\n", &vec![line; lines].join("\n"));
        assert_eq!(told, expected, "{lines} lines, {bytes} bytes");
    }
    // With the lines around it, however far down it is.
    for (above, below, expected) in
        [(600, 600, true), (100_000, 10, true), (300_000, 10, false), (10, 300_000, false)]
    {
        let [far, above, below] = [300_000, above, below].map(|length| "x".repeat(length));
        let file = format!("{far}\n{above}\nalpha\n{below}\n");
        let told = is_told(&file, &"beta ".repeat(120));
        assert_eq!(told, expected, "{} bytes above, {} below", above.len(), below.len());
    }
}

#[test]
fn lines_at_the_ends_of_a_text_may_be_the_files() {
    let long_fence = format!("```bash {}\n$ run the_program\n", "x".repeat(200));
    let names = "src/lib.rs\nsrc/main.rs\nsrc/main.js\n";
    insta::assert_snapshot!(check(&[
        // Blank lines below a file name are not from the file.
        ("intro\n\nSome text of it.\n", &[text("src/lib.rs\n\nSome text of it.\n", "x")]),
        ("intro\n\nSome text of it.\n", &[text("src/lib.rs\nsrc/main.rs\n\nSome text of it.\n", "x")]),
        // A name may be another one, or one that was mistyped.
        ("src/lib.rs\nSome text of it.\nend\n", &[text("src/main.rs\nSome text of it.\n", "x")]),
        ("src/lib.rs\nSome text of it.\nend\n", &[lines(3, 3, "src/main.rs\nSome text of it.\n", "x")]),
        ("src/the_first.rs\nSome text of it.\n", &[text("src/the_final.rs\nSome text of it.\n", "x")]),
        ("src/the_first.rs\nSome text of it.\n", &[text("src/the_first.py\nSome text of it.\n", "x")]),
        ("lib/a.c\nSome text of it.\n", &[text("src/the_first.py\nSome text of it.\n", "x")]),
        // The text has only file names.
        (names, &[text("```\nsrc/main.rs\n```\n", "x")]),
        // The fences of the file, or others around its text.
        ("```bash\n$ run the_program\n```\n", &[text("```\n$ run the_program\n```\n", "x")]),
        (&long_fence, &[text("```\n$ run the_program\n", "x")]),
        // A line that was copied twice, next to a line that begins like it.
        ("// Words.\n//\nfn some_function() {\n", &[text("//\n//\nfn some_function() {\n", "x")]),
        (
            "first_line();\nlast_line();\nlast_line();\nend\n",
            &[text("first_line();\nfirst_line();\nlast_line();\nlast_line();\n", "x")],
        ),
        // What is left of a comment.
        (
            "// First words.\n// Words of a comment\nfn some_function() {\n",
            &[text("//\n// Words of\n// a comment\n", "x")],
        ),
        // A line where there was a comment; a fence around lines that were joined; and two names.
        ("other();\nfn some_function() {\n", &[text("//\nfn some_function() {\n", "x")]),
        (
            "~~~\nlet result = compute_everything(\n    first_argument, second_argument_of_it);\nlet body = 1;\n",
            &[text("```\nlet result = compute_everything(first_argument, second_argument_of_it);\nlet boddy = 1;\n", "x")],
        ),
        (
            "lib/a.c\nSome text of it.\nmiddle\nlib/b.c\nSome text of it!\n",
            &[text("src/the_first.py\nSome text of it.\n", "x")],
        ),
    ]), @r#"
    one 3-3# Lines(Wrapper) from 3
    one 3-3# Lines(Wrapper) from 3
    one 2-2 Lines(Wrapper) from 2
    one 2-2 Lines(Wrapper) from 2
    one 2-2 Lines(Wrapper) from 2
    one 2-2 Lines(Wrapper) from 2
    one 2-2 Lines(Wrapper) from 2
    one 2-2# Lines(Wrapper) from 2
    one 2-3 Lines(Wrapper) from 2
    one 2-2 Lines(Wrapper) from 2
    one 1-3 Fuzzy from 1
    one 1-3# Fuzzy from 2
    nothing; 1-2 Fuzzy from 1
    one 1-2 Fuzzy from 1
    nothing; 3-4# Fuzzy from 3
    one 2-2 Lines(Wrapper) from 2
    "#);
}

#[test]
fn a_range_that_meets_the_text_is_too_short_or_meant_as_it_is() {
    let blank = "one();\n\ntext(1);\nend\n";
    insta::assert_snapshot!(check(&[
        // The new text also has the blank line, or lacks it.
        (blank, &[lines(3, 3, "\ntext(1);\n", "\ntext(2);\n")]),
        (blank, &[lines(3, 3, "\ntext(1);\n", "text(2);\n")]),
        // It is the same line even if the text stands elsewhere.
        ("text(1);\nend\n\ntext(1);\n", &[lines(1, 1, "\ntext(1);\n", "\ntext(2);\n")]),
        // Lines with other line breaks than the text stand next to the range, or far from it.
        ("word word\nword\nword word\n", &[lines(1, 2, "word\nword word\n", "x")]),
        ("word word\nword\nother\nword\nword word\n", &[lines(1, 2, "word\nword word\n", "x")]),
    ]), @r#"
    one 2-3# Lines(Exact)
    one 2-3# Lines(Exact)
    one 1-1# Lines(Wrapper) from 1
    one 2-3# Lines(Exact)
    one 1-2# Lines(Layout) from 1
    "#);
}

#[test]
fn lines_that_differ_are_told_by_their_number() {
    insta::assert_snapshot!(check(&[
        // Blanks at line ends do not count.
        ("alpha(1);\nbeta(3);\n", &[lines(1, 2, "alpha(1);  \nbeta(2);\n", "x")]),
        // The first line may begin, and the last may end, inside a line.
        (
            "let a = start(\n    middle(one),\n    finish(two));\n",
            &[text("start(\n    middle(one),\n    finsh(two)", "x")],
        ),
        // The last line has no terminator.
        ("one();\nlast_value = compute(1, 2)", &[text("last_value = compute(1, 3)", "x")]),
    ]), @r#"
    one 1-2# Fuzzy from 2
    one 1-3# Fuzzy from 1
    one 2-2# Fuzzy from 2
    "#);
}
