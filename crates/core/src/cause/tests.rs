//! Tests of causes.

use proptest::prelude::*;

use super::Side::{File, Requested};
use super::undo::SLIPS;
use super::*;

#[track_caller]
fn check(wanted: &str, actual: &str, expected: impl Into<Option<Cause>>) {
    assert_eq!(cause(wanted, actual), expected.into(), "{wanted:?} against {actual:?}");
}

#[test]
fn one_slip() {
    check("a\n", "a\n", None);
    check("a", "a\n", None);
    check("a\nb\n", "a\nc\n", None);
    check("    a {\n        b", "\ta {\n\t\tb\n", Cause::TabsAgainstSpaces(File));
    check("a    = 1", "a\t= 1", Cause::TabsAgainstSpaces(File));
    // Tabs end at every fourth column here, counted on each line anew.
    let [spaces, tabs] = ["a   b   c\nabc d", "a\tb\tc\nabc\td"];
    check(spaces, tabs, Cause::TabsAgainstSpaces(File));
    check(tabs, spaces, Cause::TabsAgainstSpaces(Requested));
    check("   a\n    b", "\ta\n\tb\n", Cause::TabsAgainstSpaces(File));
    check("\tb", "b\n", Cause::Indentation);
    check("b", "\tb\n", Cause::Indentation);
    check("a\n  b\n", "    a\n      b\n", Cause::Indentation);
    check("if a:\n  b", "if a:\n    b\n", Cause::Indentation);
    check("\t\ta\n\t\t\tb", "        a\n                b", Cause::TabsAgainstSpaces(Requested));
    check("say “hi”, it’s", "say \"hi\", it's\n", Cause::TypographicQuotes(Requested));
    check("say \"hi\"", "say „hi“\n", Cause::TypographicQuotes(File));
    check("10 km", "10\u{a0}km", Cause::NoBreakSpace(File));
    check("a\\n\\tb", "a\n\tb\n", Cause::SpelledOutEscapes);
    check("say(\\\"a\\\\n\\\");\\n", "say(\"a\\n\");\n", Cause::SpelledOutEscapes);
    check("Hello", "hello\n", Cause::LetterCase);
    check("a  \nb", "a\nb \n", Cause::TrailingWhitespace);
    check(" 9\ta\n10\t\tb\n11\n", "a\n\tb\n\n", Cause::Gutter);
    check("1→a", "a", Cause::Gutter);
    check("12 | a\n13 |   b", "a\n  b", Cause::Gutter);
    check("12: a\n13: b", "a\nb", Cause::Gutter);
    check("", "a", None);
}

#[test]
fn slips_of_writing() {
    check("print(\"a\n\")", "print(\"a\\n\")\n", Cause::EscapesInFile);
    check("say(\\\"a\\\")", "say(\"a\")", Cause::SpelledOutEscapes);
    check("a\\r\\nb\\r", "a\nb", Cause::SpelledOutEscapes);
    check("a\\r\nb", "a\nb", Cause::SpelledOutEscapes);
    check("a \\u2014 b", "a — b", Cause::SpelledOutEscapes);
    // A sign is no digit.
    check("a\\u+041", "aA", None);
    check("a\\u{000041}", "aA", Cause::SpelledOutEscapes);
    check("a\\u{0000041}", "aA", None);
    check("a — b", "a \\u{2014} b", Cause::EscapesInFile);
    check("\\\\d+ \\\\w", "\\d+ \\w", Cause::DoubledBackslashes(Requested));
    check("\\d", "\\\\d", Cause::DoubledBackslashes(File));
    check("x\\ty\tz", "x\ty\\tz", Cause::EscapesInFile);
    check("if a &lt; b &amp;&amp; c", "if a < b && c", Cause::HtmlEntities(Requested));
    check("<b>", "&lt;b&gt;", Cause::HtmlEntities(File));
    check("&amp;lt;", "&lt;", Cause::HtmlEntities(Requested));
    check("cafe\u{301}", "café\n", Cause::Composition(Requested));
    check("café", "cafe\u{301}\n", Cause::Composition(File));
    check("a\u{200b}b", "ab", Cause::Invisible(Requested));
    check("ab", "\u{feff}ab", Cause::Invisible(File));
    check("a - b", "a — b", Cause::Dashes(File));
    check("a -- b", "a — b", Cause::Dashes(File));
    check("wait…", "wait...", Cause::Dashes(Requested));
    check("a b c", "a b\rc\n", Cause::CarriageReturn);
    check("f( a,b )", "f(a, b)", Cause::InnerBlanks);
    check("let a = some", "let a = some(thing);\n", Cause::CutShort);
    check("let a = some", "let a = some(thing);\nb\n", None);
    check("a\n}", "a\n};\n", None);
    check("one\ntwo\nfour", "one\ntwo\nthree\nfour\n", Cause::LeftOut);
    check("one\ntwo\nfive", "one\ntwo\nthree\nfour\n", None);
}

#[test]
fn lines_around_the_text() {
    for (wanted, expected) in [
        ("\na\nb\n", Cause::BlankLines),
        ("a\nb\n\n", Cause::BlankLines),
        ("\na\nb\n \n", Cause::BlankLines),
        ("```rust\na\nb\n```\n", Cause::Fence),
        ("a\nb\n```", Cause::Fence),
        ("~~~\na\nb\n~~~", Cause::Fence),
        ("src/main.rs\na\nb\n", Cause::FileName),
        ("**src/main.rs**:\n\n```rust\na\nb\n```", Cause::FileName),
        ("// main.rs\na\nb", Cause::FileName),
        ("<<<<<<< SEARCH\na\nb", Cause::PatchMark),
        ("<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\n", Cause::PatchMark),
        ("------- SEARCH\na\nb\n=======\n", Cause::PatchMark),
        ("@@ -1,2 +1,2 @@ fn x()\na\nb", Cause::PatchMark),
        ("*** Begin Patch\n*** Update File: x.rs\n@@\na\nb\n*** End Patch", Cause::PatchMark),
        ("--- a/x.rs\n+++ b/x.rs\n@@\na\nb", Cause::PatchMark),
        ("diff --git a/x.rs b/x.rs\na\nb", Cause::PatchMark),
        // With no mark above the new text there is none.
        ("a\nb\n>>>>>>> REPLACE\n", Cause::PatchMark),
        ("```\n1\ta\n2\tb\n```", Cause::Fence),
    ] {
        check(wanted, "a\nb\n", expected);
        assert!(expected.is_at_ends(), "{expected:?}");
    }
    for other in [Cause::Gutter, Cause::Repeated, Cause::LetterCase, Cause::RangeTooShort, Cause::Elided] {
        assert!(!other.is_at_ends(), "{other:?}");
    }
    // A slip around a text whose line ends are spelled out, or that the file spells out.
    check("```\n// a\\n//\n```", "// a\n//\n", Cause::Fence);
    check("```\n// a\n//\n```", "// a\\n//\n", Cause::Fence);
    // A line that the file has as well is not one too many.
    check("```\na\n```\n", "```\nA\n```\n", Cause::LetterCase);
    check("\na\n", "\nA\n", Cause::LetterCase);
    check("\n```\na\n```\n", "```\na\n```\n", Cause::BlankLines);
    check("Title\n=====\n\na", "Title\n=====\n\nA", Cause::LetterCase);
    // Nor is a line that only looks like one.
    for line in [
        "self.x",
        "a.b()",
        "```js` x",
        "--",
        "====",
        "*** note",
        "print x.py",
        "---",
        "> quoted",
        "| cell",
        "1/2.5",
        "this/x.toLocaleString",
    ] {
        check(&format!("{line}\na\nb"), "a\nb\n", Cause::RangeTooShort);
    }
    let fence = |length: usize| format!("```{}\na\nb\n```", "x".repeat(length - 3));
    check(&fence(200), "a\nb\n", Cause::Fence);
    check(&fence(201), "a\nb\n", Cause::RangeTooShort);
}

#[test]
fn a_line_at_an_end_may_be_another_of_its_kind() {
    for (own, there, expected) in [
        ("src/a.rs", " src/b.rs", true),
        ("<<<<<<< HEAD", "=======", true),
        ("```rust", "~~~", true),
        ("src/a.rs", "```", false),
        ("src/a.rs", "a", false),
        ("a", "b", false),
        ("", " ", false),
    ] {
        assert_eq!(is_another_end(own, there), expected, "{own:?} {there:?}");
    }
    let fences = ["```", " ~~~~ ", "```rust", "a", ""].map(is_bare_fence);
    assert_eq!(fences, [Some(true), Some(true), Some(false), None, None]);
}

#[test]
fn a_text_has_a_limited_number_of_readings() {
    let blank = "\n".repeat(20);
    assert_eq!(readings(&format!("{blank}a{blank}")).len(), 16);
}

#[test]
fn collapsed_text_has_no_white_space_but_line_ends() {
    for (text, expected) in
        [("a b\tc", "abc"), ("a\u{b}b\u{2028}c", "abc"), (r"a\nb", "a\nb"), ("a\nb", "a\nb")]
    {
        assert_eq!(collapsed(text), expected, "{text:?}");
    }
}

#[test]
fn lines_broken_elsewhere() {
    let call = "foo(\n    a,\n    b,\n)\n";
    check("foo(a, b)", call, Cause::LineBreaks);
    check("foo(\n  a, b\n)", call, Cause::LineBreaks);
    check(call, "foo(a, b)\n", Cause::LineBreaks);
    check("one two\nthree four\n", "one\ntwo three\nfour\n", Cause::LineBreaks);
    check("// one two three", "// one\n// two three\n", Cause::LineBreaks);
    check("> one two\n> three", "> one\n> two three\n", Cause::LineBreaks);
    check("# one # two", "# one\n# two\n", Cause::LineBreaks);
    check("x = 1\ny = 2", "// x = 1\n// y = 2", None);
    check("foo(a, c)", call, None);
    // Blank lines and empty comments at the ends are no matter of breaks.
    check("foo(a, b)", &format!("\n{call}"), None);
    check("foo(a, b)", &format!("{call}\n\n"), None);
    check("// one two three", "//\n// one\n// two three\n", None);
    check("// one two three", "// one\n// two three\n//\n", None);
    check("//\n//", "//\n#\n", None);
    // A text that is many times as long is another one.
    let wide = |length: usize| format!("foo(a,{}b)", " ".repeat(length - 8));
    check(&wide(8 * 9 + 64), "foo(a,\nb)\n", Cause::LineBreaks);
    check(&wide(8 * 9 + 65), "foo(a,\nb)\n", None);
    check("```\nfoo(a, b)\n```", call, Cause::Fence);
}

#[test]
fn several_slips_name_the_first() {
    check("‘a’\n    b", "'a'\n\tb\n", Cause::TypographicQuotes(Requested));
    check("1\t“a”", "\"a\"", Cause::Gutter);
    check("  Ab\n    c", "\tab\n\t\tc\n", Cause::TabsAgainstSpaces(File));
    check("‘a’\n    b", "'a'\n\tc\n", None);
}

#[test]
fn a_range_that_holds_too_much_or_too_little() {
    check("b\nc\n", "a\nb\nc\nd\n", Cause::RangeTooLong);
    check("b\nc\n", "ab\nc\n", None);
    check("a\nb\nc\n", "b\n", Cause::RangeTooShort);
    check("a\n\nc\n", "\n", None);
    check("b\nc\n", "a\n  b\n  c\nd\n", None);
}

#[test]
fn lines_left_out() {
    let actual = "fn a() {\n    b();\n    c();\n    d();\n}\n";
    for dots in [
        "...",
        "…",
        "// ...",
        "    // ... existing code ...",
        "/* … */",
        "# ... rest",
        "[...]",
        "... snip ...",
    ] {
        check(&format!("fn a() {{\n{dots}\n    d();\n}}\n"), actual, Cause::Elided);
        check(&format!("fn a() {{\n{dots}\n    x();\n}}\n"), actual, None);
    }
    // A longer line is text.
    let comment = |length: usize| format!("fn a() {{\n// ...{}\n    d();\n}}\n", "x".repeat(length - 6));
    check(&comment(80), actual, Cause::Elided);
    check(&comment(81), actual, None);
    // It may stand for no line, but there must be others.
    check("fn a() {\n...\n    b();\n", actual, Cause::Elided);
    check("// ...", actual, None);
    check("fn a() {\n...args\n}\n", actual, None);
    check("def a():\n    ...\nb", "def a():\n    ...\nc", None);
    check("d();\n...\nfn a() {\n", actual, None);
}

#[test]
fn inside_a_line() {
    assert_eq!(cause_inside("‘a’", "x = 'a';\n"), Some(Cause::TypographicQuotes(Requested)));
    assert_eq!(cause_inside("a {\n    b", "x = a {\n\tb }\n"), Some(Cause::TabsAgainstSpaces(File)));
    assert_eq!(cause_inside("a {\n    b", "x = a {\n  b }\n"), Some(Cause::Indentation));
    assert_eq!(cause_inside("a\\n", "x = a\n\n"), Some(Cause::SpelledOutEscapes));
    assert_eq!(cause_inside("1\ta\n2\tb", "a\nb c\nd\n"), Some(Cause::Gutter));
    assert_eq!(cause_inside("```\na\nb\n```", "say(a\\nb)\n"), Some(Cause::Fence));
    assert_eq!(cause_inside("a", "x = a\n"), None);
    assert_eq!(cause_inside("b", "x = a\n"), None);
}

#[test]
fn without_a_place() {
    for (wanted, expected) in [
        ("12\tfoo\n13\n14\tbar\n", Some(Cause::Gutter)),
        ("12\tfoo\n14\tbar\n", None),
        ("12\n13\n", None),
        ("a\n// ... existing code ...\nb\n", Some(Cause::Elided)),
        ("a\n...\nb", Some(Cause::Elided)),
        ("def a():\n    ...\n\nb", None),
        ("...", None),
        ("// ...", None),
        ("a\n...", None),
        ("a {\\n    b\\n}", Some(Cause::SpelledOutEscapes)),
        ("print(\"a\\n\")", None),
        ("print(\"a\\nb\")", None),
        ("print(\"a\")\\nprint(\"b\")", Some(Cause::SpelledOutEscapes)),
        ("print(\"a\\nb\")\\nprint(\"c\")", Some(Cause::SpelledOutEscapes)),
        ("print(\\\"a\\\")\\nb", Some(Cause::SpelledOutEscapes)),
        ("C:\\new\\folder", None),
        ("a\n", None),
        ("", None),
    ] {
        assert_eq!(cause_without_place(wanted), expected, "{wanted:?}");
    }
    assert_eq!(without_slips("a {\\n    b\\n}").as_deref(), Some("a {\n    b\n}"));
    for wanted in ["a\nb\n", "print(\"a\\n\")", ""] {
        assert_eq!(without_slips(wanted), None, "{wanted:?}");
    }
}

proptest! {
    #[test]
    fn equal_texts_have_no_cause(text in "[ a\tB\n'‘1.]{0,20}") {
        prop_assert_eq!(cause(&text, &text), None);
        prop_assert_eq!(cause_inside(&text, &text), None);
    }

    /// Checks the law of every slip: a text with the slip, and the slip undone, is the text.
    #[test]
    fn what_is_undone_is_the_text(
        lines in prop::collection::vec("[ a-c`#\t]{0,6}[a-c0-9]", 1..8),
        (name, fence, language) in ("([a-z]{1,4}/)?[a-z]{1,6}\\.(rs|md|py)", "`{3,5}|~{3,5}", "[a-z]{0,6}"),
        from in 1..300_u64,
        twice in any::<prop::sample::Index>(),
    ) {
        let text = lines.join("\n");
        let gutter = (from..).zip(&lines).map(|(number, line)| format!("{number}\t{line}")).collect::<Vec<_>>().join("\n");
        let mut once = lines.clone();
        once.dedup();
        let mut repeated = once.clone();
        let at = twice.index(once.len());
        repeated.insert(at, once[at].clone());
        let spoiled = [
            (Cause::Fence, format!("{fence}{language}\n{text}\n{fence}"), &text),
            (Cause::FileName, format!("{name}\n{text}"), &text),
            (Cause::FileName, format!("# {name}:\n\n{text}"), &text),
            (Cause::PatchMark, format!("<<<<<<< SEARCH\n{text}"), &text),
            (Cause::PatchMark, format!("@@ -{from} +{from} @@\n{text}"), &text),
            (Cause::PatchMark, format!("{text}\n======="), &text),
            (Cause::PatchMark, format!("{text}\n=======\n{gutter}\n>>>>>>> REPLACE"), &text),
            (Cause::Gutter, gutter.clone(), &text),
            (Cause::BlankLines, format!("\n{text}"), &text),
            (Cause::BlankLines, format!("{text}\n"), &text),
            (Cause::Repeated, repeated.join("\n"), &once.join("\n")),
        ];
        for (slip, spoiled, text) in spoiled {
            let undone = SLIPS.iter().filter(|(cause, _)| *cause == slip).filter_map(|(_, undo)| undo(&spoiled));
            prop_assert!(undone.into_iter().any(|undone| undone == *text), "{:?} {:?}", slip, spoiled);
            prop_assert!(readings(&spoiled).iter().any(|reading| reading.text == *text), "{:?} {:?}", slip, spoiled);
        }
    }

    /// Checks several slips at once, and blank lines.
    #[test]
    fn slips_around_each_other_are_undone(
        words in prop::collection::vec("[a-c]{1,4}", 1..5),
        layers in prop::collection::vec(0..5_usize, 0..4),
    ) {
        let text = words.join("\n");
        let spoiled = layers.iter().fold(text.clone(), |text, layer| match layer {
            0 => format!("\n{text}"),
            1 => format!("{text}\n"),
            2 => format!("```\n{text}\n```"),
            3 => format!("a/b.py\n{text}"),
            _ => format!("<<<<<<< SEARCH\n{text}\n======="),
        });
        prop_assert!(readings(&spoiled).iter().any(|reading| reading.text == text), "{:?}", spoiled);
    }

    #[test]
    fn anything_is_answered(wanted in "[ a\tB\n'‘1.\\\\n/#…é\u{a0}]{0,20}", actual in ".{0,20}") {
        _ = (cause(&wanted, &actual), cause_inside(&wanted, &actual), cause_without_place(&wanted));
        _ = (without_slips(&wanted), readings(&wanted));
    }

    #[test]
    fn a_gutter_is_always_seen(lines in prop::collection::vec("[a-c \t]{0,4}[a-c]", 1..6), from in 1..200_u64) {
        let mut numbered = String::new();
        for (number, line) in (from..).zip(&lines) {
            numbered.extend([number.to_string().as_str(), "\t", line, "\n"]);
        }
        prop_assert_eq!(cause(&numbered, &lines.join("\n")), Some(Cause::Gutter));
        prop_assert_eq!(without_slips(&numbered), Some(lines.join("\n")));
    }
}

#[test]
fn what_an_escape_means_is_undone_once() {
    for (text, undone) in [
        (r"a\n", "a"),
        (r"a\nb", "a\nb"),
        (r"a\r\nb", "a\nb"),
        (r"a\tb", "a\tb"),
        (r"a\rb", r"a\rb"),
        (r"a\", r"a\"),
        (r"a\\nb", r"a\\nb"),
    ] {
        assert_eq!(super::escapes::unescaped(text), undone, "{text}");
    }
}
