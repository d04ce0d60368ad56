//! Resolves the requests that name whole lines: new lines before or after a line, new lines at the end of a
//! file, and lines to delete, each range guarded by its digest.

use super::guard::guarded;
use super::plan::Resolution;
use super::rearrange::{EditedLines, LineEdit, Placing, Position, by_rules, unguarded};
use super::request::GuardedRange;
use crate::digest::DigestPrefix;
use crate::rejection::{At, TextKind};
use crate::scan::Scanned;
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

/// Resolves a request to append lines, `contents`, as [`insert`](fn@super::insert) does after the last line.
/// If the file has another digest than expected, the rejection says that the request
/// [holds](crate::rejection::Fit::Holds): the end is the end.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. `review` is as in
/// [`MatchOptions`](super::MatchOptions). The only errors are those of the source.
pub fn append<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    contents: &str,
    review: Option<TextKind>,
) -> Result<Resolution, S::Error> {
    let edit = new_lines(contents, Position::After(file.scan.lines.count()));
    guarded(file, file_hash, unguarded(file, &[edit], Placing::for_new_text(review))?)
}

/// Resolves a request to delete the lines of `ranges`, with their terminators. A range without a digest is
/// guarded only by the digest of the file.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. The only errors are those
/// of the source.
pub fn delete<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    ranges: &[GuardedRange],
) -> Result<Resolution, S::Error> {
    let removed = ranges.iter().enumerate().map(|(number, range)| LineEdit {
        at: At { entry: 0, patch: 0, range: Some(number) },
        lines: EditedLines::Own { range, is_removed: true },
        to: None,
    });
    by_rules(file, file_hash, &removed.collect::<Vec<_>>(), Placing::for_new_text(None))
}

#[cfg(test)]
mod tests {
    use Position::{After, Before};

    use super::*;
    use crate::resolve::tests::{scan, tag, told};

    fn check_insert(rows: &[(&str, Position, &str)]) -> String {
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
        insta::assert_snapshot!(check_insert(&[
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

    fn check_append(rows: &[(&str, &str)]) -> String {
        let tell = |(file, contents): &(&str, &str)| {
            let resolution =
                append(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, contents, None).unwrap();
            format!("{file:?} -> {}\n", told(file, resolution))
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn new_text_has_lines_of_its_own() {
        insta::assert_snapshot!(check_append(&[
            ("a\n", "x"),
            ("a\n", "x\ny\n"),
            ("a\n", "\n"),
            ("a", "x"),
            ("", "x"),
            ("a\nb\r\n", "x\ny"),
            ("a\r\nb", "x\n"),
            ("a\rb", "x"),
        ]), @r#"
        "a\n" -> "a\nx\n"
        "a\n" -> "a\nx\ny\n"
        "a\n" -> "a\n\n"
        "a" -> "a\nx\n" and ends the last line first
        "" -> "x\n"
        "a\nb\r\n" -> "a\nb\r\nx\r\ny\r\n"
        "a\r\nb" -> "a\r\nb\r\nx\r\n" and ends the last line first
        "a\rb" -> "a\rb\rx\r" and ends the last line first
        "#);
    }

    /// The first and the last line, and the bytes whose digest guards them.
    type Range = (i64, i64, &'static str);

    fn check_delete(rows: &[(&str, &[Range])]) -> String {
        let tell = |(file, ranges): &(&str, &[Range])| {
            let range = |&(start, end, bytes): &Range| GuardedRange {
                start,
                end: Some(end),
                range_hash: Some(tag(bytes)),
            };
            let ranges: Vec<GuardedRange> = ranges.iter().map(range).collect();
            let resolution =
                delete(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &ranges).unwrap();
            format!("{file:?} -> {}\n", told(file, resolution))
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn whole_lines_go() {
        insta::assert_snapshot!(check_delete(&[
            ("a\nb\r\nc\n", &[(2, 2, "b\r\n")]),
            ("a\nb\nc\n", &[(3, 3, "c\n"), (1, 1, "a\n")]),
            ("a\nb\nc\n", &[(1, 3, "a\nb\nc\n")]),
            ("a\nb", &[(2, 2, "b")]),
            ("\u{feff}a\n", &[(1, 1, "a\n")]),
            ("a\nb\nc\n", &[(1, 1, "c\n")]),
            ("a\nb\nc\n", &[(1, 1, "a\n"), (2, 2, "x\n"), (4, 4, "")]),
            ("a\nb\nc\n", &[(1, 2, "a\nb\n"), (2, 3, "b\nc\n")]),
        ]), @r#"
        "a\nb\r\nc\n" -> "a\nc\n"
        "a\nb\nc\n" -> "b\n"
        "a\nb\nc\n" -> ""
        "a\nb" -> "a\n"
        "\u{feff}a\n" -> "\u{feff}"
        "a\nb\nc\n" -> RangeHashMismatch 1-1, is "a\n", Lines(Exact) 3-3
        "a\nb\nc\n" -> RangeHashMismatch 2-2, is "b\n"; LineOutOfRange 4 to Some(4) of 3
        "a\nb\nc\n" -> Overlap 1-2 2-3
        "#);
    }

    #[test]
    fn a_range_without_a_digest_is_guarded_by_that_of_the_file() {
        let file = "a\nb\nc\n";
        let scan = scan(file.as_bytes());
        let range = GuardedRange { start: 2, end: Some(2), range_hash: None };
        let of = |known: &str| {
            let scanned = Scanned::new(file.as_bytes(), &scan);
            told(file, delete(scanned, Some(&tag(known)), std::slice::from_ref(&range)).unwrap())
        };
        assert_eq!(of(file), r#""a\nc\n""#);
        assert!(of("a\nB\nc\n").starts_with("HashMismatch"), "{}", of("a\nB\nc\n"));
    }
}
