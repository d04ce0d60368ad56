//! Tests what a review finds, and what it lets pass.

use super::*;
use crate::encoding::Label;
use crate::preview::Preview;
use crate::rejection::{Rejection, Slip, TextKind};
use crate::resolve::tests::{bytes, lines, scan, tag, text};
use crate::resolve::{MatchOptions, Patch, Position, Resolution, append, insert, patch};
use crate::scan::{Scanned, Scanner};

/// Returns what was found: the certain slip for which the request is rejected, or the likely slips.
fn report(file: Scanned<'_, [u8]>, resolution: Resolution) -> String {
    let plan = match resolution {
        Ok(plan) => plan,
        Err(rejections) => match rejections.as_slice() {
            [Rejection::TextSlip { slip, indentation, .. }] => {
                return format!("refused {slip:?}{indentation:?}");
            }
            other => return format!("{other:?}"),
        },
    };
    let found = Preview::read(file, &plan).unwrap().slips().unwrap();
    let each = found.iter().map(|found| match found.slip {
        Slip::Indentation { of_file, of_text } | Slip::IndentedTwice { of_file, of_text, .. } => {
            let [file, text] = [of_file, of_text].map(|one| (one.spaces, one.tabs));
            let name = if matches!(found.slip, Slip::Indentation { .. }) { "other" } else { "twice" };
            format!("{name} {file:?} {text:?} in {} and {}", found.line, found.more)
        }
        slip => format!("{slip:?} in {} and {}", found.line, found.more),
    });
    each.collect::<Vec<_>>().join("; ")
}

fn patched_in(file: &str, patches: &[Patch], kind: TextKind, label: &str) -> String {
    let encoding = Label::parse(label).unwrap().encoding;
    let bytes = encoding.encode(file).unwrap();
    let mut scanner = Scanner::new(Some(encoding));
    scanner.feed(&bytes);
    let scan = scanner.finish();
    let file = Scanned::new(bytes.as_slice(), &scan);
    report(
        file,
        patch(file, None, patches, MatchOptions { review: Some(kind), ..MatchOptions::default() }).unwrap(),
    )
}

fn patched(file: &str, patches: &[Patch]) -> String {
    patched_in(file, patches, TextKind::Plain, "utf-8")
}

fn inserted(file: &str, after: u64, contents: &str) -> String {
    let scan = scan(file.as_bytes());
    let file = Scanned::new(file.as_bytes(), &scan);
    report(
        file,
        insert(
            file,
            Some(&tag(std::str::from_utf8(file.source).unwrap())),
            contents,
            Position::After(after),
            Some(TextKind::Plain),
        )
        .unwrap(),
    )
}

#[track_caller]
fn check(rows: &[(String, &str)]) {
    let wrong: Vec<_> =
        rows.iter().enumerate().filter(|(_, (reported, expected))| reported != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const TREES: &str = "oak\nelm\nfir\nash\n";

fn tree(old: &str, new: &str) -> String {
    patched(TREES, &[text(old, new)])
}

fn line(number: i64, hash: &str, new: &str) -> String {
    patched(TREES, &[bytes(number, number, hash, new)])
}

#[test]
fn an_empty_line_by_unequal_line_ends_is_refused() {
    check(&[
        (tree("elm", "ELM\n"), "refused EmptyLine\"\""),
        (tree("elm", ""), "refused EmptyLine\"\""),
        (tree("elm\nfir", ""), "refused EmptyLine\"\""),
        (tree("elm", "\n"), "refused EmptyLine\"\""),
        (tree("lm", "LM\n"), "refused EmptyLine\"\""),
        (patched("a\n  elm\nb\n", &[text("elm", "")]), "refused EmptyLine\"  \""),
        (patched("a\nelm  \nb\n", &[text("elm", "")]), "refused EmptyLine\"\""),
        // No `EmptyLine`: equal ends, only an additional line end, text around, no line end in the file, or
        // one before the text.
        (tree("elm\n", ""), ""),
        (tree("elm\n", "ELM\n\n"), "BlankLast in 3 and 0"),
        (tree("elm", "elm\n"), ""),
        (tree("l", ""), ""),
        (tree("\nelm", ""), ""),
        (patched("a\nb", &[text("b", "")]), ""),
        (patched("a\nb", &[text("b", "c\n")]), ""),
        (patched("a\n\nb\n", &[text("a", "c\n")]), "refused EmptyLine\"\""),
        // With several occurrences, all must be at the end of a line.
        (patched("a;\nb;\n", &[Patch::text(";", "\n").all()]), "refused EmptyLine\"\""),
        (patched("a;b;\n", &[Patch::text(";", ";\n").all()]), ""),
        (patched("a;b;\n", &[Patch::text(";", "\n").all()]), "EmptyLine in 3 and 0"),
    ]);
}

/// If the review scanned the text once for each of its characters or lines, this test would take minutes.
#[test]
fn a_long_text_is_looked_through_once() {
    for piece in ["a.b:1,", r"\n", "a/b-", "\\\"", "</a>", "\n"] {
        let contents = format!("+a{}\n-b", piece.repeat(400_000));
        let _ = review_new_file(&contents, TextKind::Plain);
        assert!(!patched(TREES, &[text("elm", &contents)]).contains("refused"), "{piece}");
    }
}

#[test]
fn numbers_of_a_read_are_found() {
    check(&[
        (tree("elm", "2\tELM"), "refused Numbers\"\""),
        (tree("elm\nfir", "2\tELM\n3\tFIR"), "refused Numbers\"\""),
        (line(2, "elm\n", "2→ELM"), "refused Numbers\"\""),
        (inserted(TREES, 4, "     5\tE1\n"), "refused Numbers\"\""),
        (inserted(TREES, 1, "2\tA\n\n4\tB\n"), "refused Numbers\"\""),
        (tree("elm", "7\tELM"), "Number in 2 and 0"),
        (tree("elm", "ELM\n3\tE1"), "Number in 3 and 0"),
        (tree("elm\nfir\n", "2 | ELM\n3 | FIR\n"), "refused Numbers\"\""),
        (tree("elm\nfir\n", "2#a1:ELM\n3#b2:FIR\n"), "refused Numbers\"\""),
        (tree("elm", "2: ELM"), "Number in 2 and 0"),
        (tree("elm", "L2: ELM"), "Number in 2 and 0"),
        (tree("elm", "a/b.txt:2:ELM"), "Number in 2 and 0"),
        (tree("elm\nfir\n", "8: ELM\n9: FIR\n"), "Number in 2 and 0"),
        (tree("elm", "/a/b.txt:2:ELM"), "refused Numbers\"\""),
        // The file has such lines, or the new lines hardly have line numbers.
        (patched("1\ta\n2\tb\n", &[text("2\tb", "2\tB")]), ""),
        (tree("elm", "8: ELM"), ""),
        (tree("elm", "2 ELM"), ""),
        (inserted("", 0, "1\ta\n2\tb\n"), "Number in 1 and 0"),
    ]);
}

#[test]
fn empty_lines_at_the_ends_and_lines_that_stand_twice_are_found() {
    let blocks = "a\n\nb\nc\n";
    check(&[
        (inserted(TREES, 4, "\nE1\n"), "BlankFirst in 5 and 0"),
        (inserted(TREES, 2, "\nE1\n"), "BlankFirst in 3 and 0"),
        (inserted(TREES, 2, "E1\n\n"), "BlankLast in 4 and 0"),
        (inserted(blocks, 3, "\nE1\n"), "BlankFirst in 4 and 0"),
        (line(2, "elm\n", "\nELM"), "BlankFirst in 2 and 0"),
        (inserted(blocks, 4, "\nE1\n"), ""),
        (inserted(blocks, 3, "\nE1\n\n"), ""),
        (inserted(TREES, 2, "\n"), ""),
        (line(2, "elm\n", "oak\nELM"), "Repeats { is_above: true } in 2 and 0"),
        (line(2, "elm\n", "ELM\nfir"), "Repeats { is_above: false } in 3 and 0"),
        (patched("elm\nE1\nfir\n", &[text("elm\n", "elm\nE1\n")]), "Repeats { is_above: false } in 2 and 0"),
        (patched("E1\nelm\n", &[text("elm\n", "E1\nelm\n")]), "Repeats { is_above: true } in 2 and 0"),
        (inserted(TREES, 2, "fir\n"), "Repeats { is_above: false } in 3 and 0"),
        (patched("{\na\n}\n", &[bytes(2, 2, "a\n", "b\n}")]), "Repeats { is_above: false } in 3 and 0"),
        (patched("{\na\n}\n", &[bytes(2, 2, "a\n", "b\n  }")]), ""),
        (line(2, "elm\n", "ELM\nfir\nash"), "Repeats { is_above: false } in 4 and 0"),
        (line(3, "fir\n", "oak\nelm\nFIR"), "Repeats { is_above: true } in 3 and 0"),
        (tree("elm", "elm\nE1"), ""),
        (patched("aa\na-b\n", &[text("a-", "aa-")]), ""),
        (patched("aa\na-b\n", &[text("a-", "aa")]), ""),
        (line(2, "elm\n", "ELM\nFIR"), "RangeTooShort { surplus: 1 } in 3 and 0"),
        (patched(TREES, &[bytes(2, 3, "elm\nfir\n", "ELM\nFIR")]), ""),
        (line(2, "elm\n", "ELM\nyew"), ""),
    ]);
}

#[test]
fn indentation_that_is_there_twice_or_another_is_found() {
    let file = "a\n    b\n\tc\n    d(b)\n    d\n";
    for (patches, expected) in [
        (vec![text("b\n", "    b2\n")], "twice (4, 0) (4, 0) in 2 and 0"),
        (vec![text("c", "\tif c {\n\t\tc\n\t}")], "twice (0, 1) (0, 1) in 3 and 0"),
        (vec![text("a\n", "a\nz\n"), text("c", "  c")], "twice (0, 1) (2, 0) in 4 and 0"),
        // No slip: the old text has these blanks, or other text precedes it.
        (vec![text("    b\n", "    b2\n")], ""),
        (vec![text("(b)", " (b)")], ""),
        (vec![text("c", "c  ")], ""),
    ] {
        for label in ["utf-8", "utf-16-le"] {
            assert_eq!(patched_in(file, &patches, TextKind::Plain, label), expected, "{patches:?}");
        }
    }
    let deep = "fn f\n    h = 1\n    p = 80\n";
    let tabs = "f\n\ta\n\tb\n";
    let many = "x\n  y\n".repeat(20);
    check(&[
        (patched("    x\n    y\n", &[text("x\n", "")]), "twice (4, 0) (4, 0) in 1 and 0; Joined in 1 and 0"),
        (patched(&many, &[Patch::text("y", " z").all()]), "twice (2, 0) (1, 0) in 2 and 15"),
        (patched(deep, &[bytes(3, 3, "    p = 80\n", "  p = 90")]), "other (4, 0) (2, 0) in 3 and 0"),
        (
            patched(deep, &[bytes(2, 3, "    h = 1\n    p = 80\n", "  h = 2\n  p = 90")]),
            "other (4, 0) (2, 0) in 2 and 0",
        ),
        (patched(tabs, &[text("\tb", "    c")]), "other (0, 1) (4, 0) in 3 and 0"),
        (inserted(tabs, 2, "    c\n"), "other (0, 1) (4, 0) in 3 and 0"),
        // No slip: a block that is only moved, and a text that the request quotes.
        (patched(deep, &[bytes(2, 3, "    h = 1\n    p = 80\n", "  h = 1\n  p = 80")]), ""),
        (patched(deep, &[text("    p = 80", "  p = 90")]), ""),
    ]);
}

#[test]
fn marks_of_the_message_and_spelled_out_text_are_found() {
    check(&[
        (line(2, "elm\n", "```\nELM\n"), "Mark in 2 and 0"),
        (line(2, "elm\n", "ELM\n```"), "Mark in 3 and 0"),
        (line(2, "elm\n", "ELM\n</content>"), "Mark in 3 and 0"),
        (line(2, "elm\n", "ELM\n</some_file>"), "Mark in 3 and 0"),
        (patched("<p>\na\n", &[bytes(2, 2, "a\n", "b\n</p>")]), ""),
        (line(2, "elm\n", "<content>\nELM\n</content>"), "Mark in 2 and 0"),
        (line(2, "elm\n", "ELM\n~~~"), "Mark in 3 and 0"),
        (line(2, "elm\n", "-elm\n+ELM"), "Mark in 2 and 0"),
        (line(2, "elm\n", "- elm"), ""),
        (line(2, "elm\n", "ELM</new_string>"), "Mark in 2 and 0"),
        (line(2, "elm\n", "ELM<|im_end|>"), "Mark in 2 and 0"),
        (line(2, "elm\n", "ELM\n>>>>>>> REPLACE"), "Mark in 3 and 0"),
        (tree("elm", "+ELM\n+E1"), "Mark in 2 and 0"),
        (line(2, "elm\n", "```\nELM\n```"), "Mark in 2 and 0"),
        (patched_in(TREES, &[bytes(2, 2, "elm\n", "```\nELM\n```")], TextKind::Markdown, "utf-8"), ""),
        (line(2, "elm\n", "<content>ELM</content>"), ""),
        (tree("elm", "a\\nb"), "Escaped in 2 and 0"),
        (tree("elm", "x = 1\\n    y = 2\\n"), "Escaped in 2 and 0"),
        (tree("elm", "\\tx"), "Escaped in 2 and 0"),
        (tree("elm", "a\n\\tx\n\\ty"), "Escaped in 3 and 0"),
        (tree("elm", "caf\\u00e9"), "Escaped in 2 and 0"),
        (tree("elm", "\"caf\\u00e9\""), ""),
        (patched("a < b\nc\n", &[text("a < b", "a &lt; b")]), "Escaped in 1 and 0"),
        (tree("elm", "print(\"a\\nb\\n\")"), ""),
        (tree("elm", "a\\nb\nc"), ""),
        (tree("elm", "a\\nb\\nc\nd"), "Escaped in 2 and 0"),
        (tree("elm", "f(\\\"a\\\")"), "Escaped in 2 and 0"),
        (tree("elm", "'{\\\"a\\\"}'"), ""),
        (tree("elm", "a &lt; b"), "Escaped in 2 and 0"),
        (tree("elm", "<p>a &lt; b"), ""),
        (patched("\\node\nb\n", &[text("b", "\\new")]), ""),
        (tree("elm", "[\"E\", \"A\"]"), "List in 2 and 0"),
        (tree("elm", "['E']"), "List in 2 and 0"),
        // No slip: inside a line, or inside its quotes.
        (patched("x = None\n", &[text("None", "['E']")]), ""),
        (patched("print('a b')\n", &[text("a b", "a\\nb\\n")]), ""),
        (patched("a - 1\n", &[text("- 1", "+ 1")]), ""),
        (patched("[\"a\"]\nb\n", &[text("b", "[\"E\"]")]), ""),
        (line(2, "elm\n", "a\n// ... the rest"), "Placeholder in 3 and 0"),
        (patched("// ... the rest\n", &[bytes(1, 1, "// ... the rest\n", "a\n// ... the rest")]), ""),
    ]);
    let created = |contents: &str| {
        let found = review_new_file(contents, TextKind::Plain);
        found.iter().map(|found| format!("{:?} {}", found.slip, found.line)).collect::<Vec<_>>().join("; ")
    };
    check(&[
        (created("1\ta\n2\tb\n"), "Number 0"),
        (created("#!/bin/sh\\nset -e\\n"), "Escaped 0"),
        (created("#!/bin/sh\r\nset -e\r\n"), "ScriptEnds 0"),
        (created("a\r\n"), ""),
        (created("a\n</content>\n"), "Mark 1"),
        (created("```\na\n```\n"), "Mark 0"),
        (created("<p>\n</p>\n</content>\n"), "Mark 2"),
        (created("<p>\na\n</p>\n"), ""),
    ]);
}

#[test]
fn joined_torn_and_shortened_lines_are_found() {
    let kind = |file, kind, patch: Patch| patched_in(file, &[patch], kind, "utf-8");
    check(&[
        (tree("elm\n", "x"), "Joined in 2 and 0"),
        (patched("a\nxb\nc\n", &[text("b\n", "")]), "Joined in 2 and 0"),
        (tree("elm\n", "x\n"), ""),
        (tree("ash\n", "x"), ""),
        (patched("ab\n\nc\n", &[text("\n\n", "")]), ""),
        (patched("oak\nelm-x\nfir\n", &[text("elm", "elm\nE1")]), "Torn in 3 and 0"),
        (patched("oak\nelm-x\nfir\n", &[text("elm", "E0\nelm")]), ""),
        (kind("a  \nb\n", TextKind::Markdown, text("a\n", "c\n")), "LostBlanks in 1 and 0"),
        (kind("a\t\nb\n", TextKind::Tabular, bytes(1, 1, "a\t\n", "c")), "LostBlanks in 1 and 0"),
        (kind("a  \nb\n", TextKind::Markdown, text("a  \n", "c\n")), ""),
        (kind("a  \nb\n", TextKind::Markdown, lines(1, 2, "a\nb", "a\nc")), ""),
        (kind("a  \nb\n", TextKind::Plain, text("a\n", "c\n")), ""),
    ]);
    // The terminator that is added to the line before does not count as a line of the new text.
    let scan = scan(b"a");
    let file = Scanned::new(b"a".as_slice(), &scan);
    let appended = append(file, None, "\nb", Some(TextKind::Plain)).unwrap();
    assert_eq!(report(file, appended), "BlankFirst in 2 and 0");
}
