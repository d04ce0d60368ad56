//! Resolves a request for new lines before or after one.

use super::guard::guarded;
use super::plan::{Claim, Resolution, SpliceInfo, plan};
use super::review::{NamedBy, Surroundings, review};
use super::seams::seams_around;
use super::terminators::Terminators;
use crate::digest::DigestPrefix;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Fit, Rejection};
use crate::scanned::Scanned;
use crate::show::excerpt;
use crate::slip::TextKind;
use crate::source::Source;
use crate::splice::Splice;

/// The place of new lines, by the number of a line, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// After this line; 0 for the top of the file.
    After(u64),
    /// Before this line; one more than the last line for the end of the file.
    Before(u64),
}

/// The number of lines above and below the place that a rejection has if the file is not the one that is
/// meant.
const AROUND: u64 = 3;
/// The most bytes of these.
const MAX_BYTES: usize = 2000;

/// Resolves a request to insert lines, `contents`, at `position`. Every line gets a terminator, the last one
/// included, and so does the line above if it lacks one.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. It is all that guards the
/// place: if the file has another digest, only the top is surely the place that was meant. Even its last line
/// can be one that was further up.
///
/// `review` is as in [`MatchOptions`](super::MatchOptions). Fails only as the source does.
pub fn insert<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    contents: &str,
    position: Position,
    review: Option<TextKind>,
) -> Result<Resolution, S::Error> {
    let mut resolution = guarded(file, file_hash, unguarded(file, contents, position, review)?)?;
    if let Err(rejections) = &mut resolution
        && let [Rejection::HashMismatch { fit: fit @ Fit::Holds, .. }] = rejections.as_mut_slice()
        && let Position::After(named @ 1..) | Position::Before(named @ 2..) = position
    {
        let total = file.scan.lines.count();
        // The line after the last one stands for the end of the file.
        let line = LineNumber::from_index(named.min(total) - 1);
        let first = line.index().saturating_sub(AROUND);
        let last = (line.get() + AROUND).min(total);
        let around = LineRange::new(LineNumber::from_index(first), last - first);
        let from = (around.start(), 1);
        let around = Box::new(excerpt(file, around, from, around.count(), MAX_BYTES)?);
        *fit = Fit::Unsure { line, around };
    }
    Ok(resolution)
}

/// Does what [`insert`] does without an expected digest.
pub(super) fn unguarded<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    contents: &str,
    position: Position,
    kind: Option<TextKind>,
) -> Result<Resolution, S::Error> {
    let total = file.scan.lines.count();
    let (named, above) = match position {
        Position::After(line) => (line, Some(line)),
        Position::Before(line) => (line, line.checked_sub(1)),
    };
    let mut rejections = Vec::new();
    let mut claims = Vec::new();
    if let Err(fault) = file.scan.encoding.encode(contents) {
        rejections.push(Rejection::unencodable(At::default(), contents, &fault));
    }
    match above.filter(|above| *above <= total) {
        None => {
            let start = i64::try_from(named).unwrap_or(i64::MAX);
            rejections.push(Rejection::LineOutOfRange { at: At::default(), start, end: None, total });
        }
        Some(above) => {
            let mut claim = lines_after(file, above, contents)?;
            if let Some(claim) = &claim
                && seams_around(file, &claim.splice.at)?.is_none()
            {
                rejections.push(Rejection::ShiftState { at: At::default(), lines: claim.lines });
            }
            if let (Some(Claim { splice, fact, .. }), Some(kind)) = (&mut claim, kind) {
                let at = (splice.at.start, splice.at.end);
                let place = Surroundings::of(file, here(above), at)?;
                fact.findings = review(NamedBy::Insertion, contents, "", &place, kind);
                let slip = fact.findings.iter().find(|finding| finding.slip.is_certain());
                rejections.extend(slip.map(|finding| Rejection::TextSlip {
                    at: At::default(),
                    lines: here(above),
                    slip: finding.slip,
                    indentation: String::new(),
                }));
            }
            claims.extend(claim);
        }
    }
    plan(file, claims, rejections)
}

/// Returns the empty place after the line `above`.
fn here(above: u64) -> LineRange {
    LineRange::new(LineNumber::from_index(above), 0)
}

/// Makes the claim of new lines after the line `above`, 0 for the top of the file; `None` if the encoding
/// lacks a character.
fn lines_after<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    above: u64,
    contents: &str,
) -> Result<Option<Claim>, S::Error> {
    let here = here(above);
    let offset = file.offset_of(here.start())?;
    // A last line without a terminator is ended first, like the lines that follow it.
    let lead = if above == file.scan.lines.count() && file.scan.lines.is_unterminated() { "\n" } else { "" };
    let end = if contents.ends_with('\n') { "" } else { "\n" };
    let text = [lead, contents, end].concat();
    // In a mixed file every inserted line takes the one terminator of its neighbour.
    let terminators = Terminators::of(file, here, 1)?;
    let encode = |text| terminators.encode(text, file.scan.encoding).ok();
    let claim = encode(lead).zip(encode(&text)).map(|(lead, insert)| Claim {
        at: At::default(),
        lines: here,
        splice: Splice { at: offset..offset, insert },
        fact: SpliceInfo { lead: lead.len(), ..SpliceInfo::of(Tier::Exact) },
    });
    Ok(claim)
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
            // A last line without terminator is ended first.
            ("a\r\nb", After(2), "x"),
            ("b", After(1), "x"),
            ("b", After(0), "x"),
            // The nearest terminator above, else below.
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
