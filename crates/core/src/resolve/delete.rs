//! Resolves a request to delete whole lines, each range guarded by its digest.

use super::plan::Resolution;
use super::rearrange::{EditedLines, LineEdit, Placing, by_rules};
use super::request::GuardedRange;
use crate::digest::DigestPrefix;
use crate::rejection::At;
use crate::scanned::Scanned;
use crate::source::Source;

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
    use super::*;
    use crate::resolve::tests::{scan, tag, told};

    /// The first and the last line, and the bytes whose digest guards them.
    type Range = (i64, i64, &'static str);

    fn check(rows: &[(&str, &[Range])]) -> String {
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
        insta::assert_snapshot!(check(&[
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
