//! Resolves a request to delete whole lines, each range guarded by its digest.

use super::evidence::{Failed, explain};
use super::guard::{guarded, unless_moved};
use super::plan::{Claim, Resolution, SpliceInfo, plan};
use super::request::{GuardedRange, MatchOptions};
use super::seams::seams_around;
use crate::digest::DigestPrefix;
use crate::matching::Tier;
use crate::rejection::{At, Rejection};
use crate::scanned::Scanned;
use crate::source::Source;
use crate::splice::Splice;

/// Resolves a request to delete the lines of `ranges`, with their terminators. A range without a digest is
/// guarded by that of the file alone.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. Fails only as the source
/// does.
pub fn delete<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    ranges: &[GuardedRange],
) -> Result<Resolution, S::Error> {
    let (mut claims, mut rejections, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (number, range) in ranges.iter().enumerate() {
        let at = At { entry: 0, patch: 0, range: Some(number) };
        let lines = match range.lines(file.scan, at) {
            Ok(lines) => lines,
            Err(rejection) => {
                rejections.push(rejection);
                continue;
            }
        };
        let bytes = file.bytes_of(lines)?;
        if let Some(tag) = &range.range_hash {
            let digest = file.digest_of(bytes.clone())?;
            if !tag.matches(&digest) {
                let hash = Some((digest, tag, false));
                failed.push(Failed { at, lines: Some(lines), old: "", new: "", hash });
            }
        }
        if seams_around(file, &bytes)?.is_none() {
            rejections.push(Rejection::ShiftState { at, lines });
        }
        let splice = Splice { at: bytes, insert: Vec::new() };
        claims.push(Claim { at, lines, splice, fact: SpliceInfo::of(Tier::Exact) });
    }
    explain(file, MatchOptions::default(), (&[], &[]), failed, &mut rejections)?;
    let resolution = guarded(file, file_hash, plan(file, claims, rejections)?)?;
    unless_moved(file, resolution, ranges)
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
