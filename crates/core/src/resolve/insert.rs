//! Resolves a request for new lines before or after a line.

use super::plan::Resolution;
use super::rearrange::{EditedLines, LineEdit, Placing, Position, by_rules};
use crate::digest::DigestPrefix;
use crate::rejection::At;
use crate::scanned::Scanned;
use crate::slip::TextKind;
use crate::source::Source;

/// Resolves a request to insert lines, `contents`, at `position`. Every new line gets a terminator, including
/// the last, and so does the line above them if it lacks one.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. Nothing else guards the
/// place: if the file has another digest, only the top of the file is surely the place that was meant. Even
/// the last line can be one that was further up.
///
/// `review` is as in [`MatchOptions`](super::MatchOptions). The only errors are those of the source.
pub fn insert<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    contents: &str,
    position: Position,
    review: Option<TextKind>,
) -> Result<Resolution, S::Error> {
    by_rules(file, file_hash, &[new_lines(contents, position)], Placing::for_new_text(review))
}

/// Returns the line edit that puts new lines at a place.
pub(super) fn new_lines(contents: &str, position: Position) -> LineEdit<'_> {
    LineEdit { at: At::default(), lines: EditedLines::New(contents), to: Some(position) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::{scan, tag, told};
    use Position::{After, Before};

    fn check(rows: &[(&str, Position, &str)]) -> String {
        let tell = |(file, position, contents): &(&str, Position, &str)| {
            let resolution = insert(
                Scanned::new(file.as_bytes(), &scan(file.as_bytes())),
                None,
                contents,
                *position,
                None,
            );
            format!("{file:?} {position:?} -> {}\n", told(file, resolution.unwrap()))
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn lines_are_put_between_lines() {
        insta::assert_snapshot!(check(&[
            ("a\nb\n", After(0), "x"),
            ("a\nb\n", Before(1), "x\n"),
            ("a\nb\n", After(1), "x\n\n"),
            ("a\nb\n", Before(3), "x"),
            ("", After(0), "x"),
            ("a\nb\n", After(3), "x"),
            ("a\nb\n", Before(4), "x"),
            ("a\nb\n", Before(0), "x"),
            // A last line without a terminator gets one first.
            ("a\r\nb", After(2), "x"),
            ("b", After(1), "x"),
            ("b", After(0), "x"),
            // New lines take the nearest terminator above, else below.
            ("a\nb\r\nc\n", After(2), "x\ny"),
            ("a\r\nb\n", After(0), "x"),
            ("\u{feff}a\n", After(0), "x"),
        ]), @r#"
        "a\nb\n" After(0) -> "x\na\nb\n"
        "a\nb\n" Before(1) -> "x\na\nb\n"
        "a\nb\n" After(1) -> "a\nx\n\nb\n"
        "a\nb\n" Before(3) -> "a\nb\nx\n"
        "" After(0) -> "x\n"
        "a\nb\n" After(3) -> LineOutOfRange 3 to None of 2
        "a\nb\n" Before(4) -> LineOutOfRange 4 to None of 2
        "a\nb\n" Before(0) -> LineOutOfRange 0 to None of 2
        "a\r\nb" After(2) -> "a\r\nb\r\nx\r\n" and ends the last line first
        "b" After(1) -> "b\nx\n" and ends the last line first
        "b" After(0) -> "x\nb"
        "a\nb\r\nc\n" After(2) -> "a\nb\r\nx\r\ny\r\nc\n"
        "a\r\nb\n" After(0) -> "x\r\na\r\nb\n"
        "\u{feff}a\n" After(0) -> "\u{feff}x\na\n"
        "#);
    }

    #[test]
    fn the_file_must_be_the_one_that_was_read() {
        let resolve = |file: &str, known: &str, position| {
            let tag = tag(known);
            told(
                file,
                insert(
                    Scanned::new(file.as_bytes(), &scan(file.as_bytes())),
                    Some(&tag),
                    "x",
                    position,
                    None,
                )
                .unwrap(),
            )
        };
        insta::assert_snapshot!(resolve("a\n", "a\n", After(1)), @r#""a\nx\n""#);
        insta::assert_snapshot!(resolve("a\n", "b\n", After(2)), @"HashMismatch, Broken; LineOutOfRange 2 to None of 1");
        // The top is the top; any other line may be another one.
        insta::assert_snapshot!(resolve("a\n", "b\n", After(0)), @"HashMismatch, Holds");
        insta::assert_snapshot!(resolve("a\n", "b\n", Before(1)), @"HashMismatch, Holds");
        let file = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        insta::assert_snapshot!(resolve(file, "b\n", After(5)), @r#"HashMismatch, unsure of 5 in "2\n3\n4\n5\n6\n7\n8\n""#);
        insta::assert_snapshot!(resolve(file, "b\n", Before(2)), @r#"HashMismatch, unsure of 2 in "1\n2\n3\n4\n5\n""#);
        insta::assert_snapshot!(resolve(file, "b\n", Before(10)), @r#"HashMismatch, unsure of 9 in "6\n7\n8\n9\n""#);
    }
}
