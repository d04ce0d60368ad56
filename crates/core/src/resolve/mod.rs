//! From a request to splices, or to every reason why not. Nothing here writes; a failure changes nothing.
//!
//! All numbers in a request refer to the file as it was scanned. The caller has seen to it that the file decodes.

pub mod append;
pub mod delete;
mod evidence;
pub mod insert;
pub mod patch;
mod terminators;

use std::ops::Range;

use crate::digest::DigestPrefix;
use crate::encoding::{Seam, Unencodable, Validator, sniff_bom};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Fit, Rejection};
use crate::scan::Scan;
use crate::scanned::Scanned;
use crate::source::{Source, for_each_chunk, read_range};
use crate::splice::{Splice, SpliceSet, Spliced};

pub use append::append;
pub use delete::delete;
pub use insert::{Position, insert};
pub use patch::{Patch, patch};

/// Lines as a client names them, with the digest it remembers of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedRange {
    /// The first line, as it was sent; below 1 is out of range.
    pub start: i64,
    /// The last line, included; `None` is the file's last.
    pub end: Option<i64>,
    /// The digest of the lines' bytes, terminators included.
    pub range_hash: Option<DigestPrefix>,
}

/// What an edit will do to one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The replacements.
    pub splices: SpliceSet,
    /// What is to be known of each, in the same order.
    pub facts: Vec<SpliceInfo>,
    /// Whether a final newline is put where there was none, so that new text starts on a line of its own.
    pub adds_final_newline: bool,
    /// Whether the new bytes are the old ones.
    pub unchanged: bool,
}

/// What is known of a splice besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpliceInfo {
    /// How its old text was found.
    pub tier: Tier,
    /// How many of the inserted bytes end the line before: they are not part of the new lines.
    pub lead: usize,
}

/// How strictly to match, and how much one request may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Match only character by character.
    pub strict: bool,
    /// How many occurrences the patches of a file that replace every one may replace together.
    pub max_occurrences: u64,
    /// How many bytes of new text, in its encoding, the patches of a file may put into it together: each place has a copy of
    /// its own.
    pub max_inserted: u64,
}

impl Default for Options {
    /// The second tier is looked into, too; 100 000 occurrences, 256 MiB.
    fn default() -> Self {
        Self { strict: false, max_occurrences: 100_000, max_inserted: 256 << 20 }
    }
}

/// A plan, or all that is wrong with a request.
pub type Resolution = Result<Plan, Vec<Rejection>>;

/// A resolution, given what the client remembers of the file's digest; problems come in the order of the request's
/// parts, what concerns the whole file first.
fn guarded(scan: &Scan, expected: Option<&DigestPrefix>, resolution: Resolution) -> Resolution {
    let mut rejections = match (expected.filter(|tag| !tag.matches(&scan.digest)), resolution) {
        (None, Ok(plan)) => return Ok(plan),
        (None, Err(rejections)) => rejections,
        (Some(_), resolution) => {
            let mut rejections = resolution.err().unwrap_or_default();
            let fit = if rejections.is_empty() { Fit::Holds } else { Fit::Broken };
            rejections.push(Rejection::HashMismatch { actual: scan.digest, fit });
            rejections
        }
    };
    // The key is a copy of the whole, so it is made once.
    rejections.sort_by_cached_key(Rejection::at);
    Err(rejections)
}

/// The same, if the file is not the one that was meant, for a request that names lines by their numbers: they hold what they
/// should, and can be others all the same.
fn unless_moved<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    mut resolution: Resolution,
    ranges: &[GuardedRange],
) -> Result<Resolution, S::Error> {
    if let Err(rejections) = &mut resolution
        && let [Rejection::HashMismatch { fit: fit @ Fit::Holds, .. }] = rejections.as_mut_slice()
        && evidence::may_have_moved(file, ranges)?
    {
        *fit = Fit::Repeated;
    }
    Ok(resolution)
}

/// The lines a client means, which must exist.
fn existing_lines(scan: &Scan, at: At, start: i64, end: Option<i64>) -> Result<LineRange, Rejection> {
    let total = scan.lines.count();
    if let Some(end) = end.filter(|end| *end < start) {
        return Err(Rejection::InvalidRange { at, start, end });
    }
    let out_of_range = Rejection::LineOutOfRange { at, start, end, total };
    let (Ok(first), Ok(last)) = (u64::try_from(start), end.map_or(Ok(total), u64::try_from)) else {
        return Err(out_of_range);
    };
    match LineRange::inclusive(first, last) {
        Some(range) if first <= total && last <= total && !range.is_empty() => Ok(range),
        _ => Err(out_of_range),
    }
}

/// One replacement that a request asks for.
struct Claim {
    at: At,
    lines: LineRange,
    splice: Splice,
    fact: SpliceInfo,
}

/// The places around some whole lines, between which new text is to be fitted in; `None` where a stateful encoding is not
/// in its ASCII state there.
fn seams_around<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    bytes: &Range<u64>,
) -> Result<Option<(Seam, Seam)>, S::Error> {
    if file.scan.encoding.is_stateful()
        && !(ascii_state_at(file.source, bytes.start)? && ascii_state_at(file.source, bytes.end)?)
    {
        return Ok(None);
    }
    Ok(Some((Seam::ascii(bytes.start), Seam::ascii(bytes.end))))
}

/// Whether ISO-2022-JP is in its ASCII state at `offset`: the last escape sequence before it says so. In a file that
/// decodes, every ESC begins an escape sequence.
fn ascii_state_at<S: Source + ?Sized>(source: &S, offset: u64) -> Result<bool, S::Error> {
    const ESCAPE: u8 = 0x1B;
    const BLOCK: u64 = 4096;
    let mut end = offset;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        // Two bytes more than are searched, so that no escape sequence is seen without its end.
        let bytes = read_range(source, start..(end + 2).min(offset))?;
        let searched = usize::try_from(end - start).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(at) = memchr::memrchr(ESCAPE, bytes.get(..searched).unwrap_or_default()) {
            return Ok(bytes.get(at + 1..at + 3) == Some(b"(B"));
        }
        end = start;
    }
    Ok(true)
}

/// Puts the claims of a call together, or says which of them cannot be.
fn plan<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    claims: Vec<Claim>,
    mut rejections: Vec<Rejection>,
) -> Result<Resolution, S::Error> {
    let mut claims = claims;
    claims.sort_by_key(|claim| (claim.splice.at.start, claim.splice.at.end));
    let facts = claims.iter().map(|claim| claim.fact).collect();
    let named: Vec<(At, LineRange)> = claims.iter().map(|claim| (claim.at, claim.lines)).collect();
    let lead = claims.iter().any(|claim| claim.fact.lead > 0);
    match SpliceSet::new(claims.into_iter().map(|claim| claim.splice).collect()) {
        Ok(splices) if rejections.is_empty() => {
            if file.scan.encoding.is_stateful() && !still_decodes(file, &splices)? {
                let shifts = named.iter().map(|(at, lines)| Rejection::ShiftState { at: *at, lines: *lines });
                return Ok(Err(shifts.collect()));
            }
            if changes_bom(file, &splices)? {
                let at = named.first().map(|(at, _)| *at).unwrap_or_default();
                return Ok(Err(vec![Rejection::ByteOrderMark { at }]));
            }
            let unchanged = splices.is_identity(file.source)?;
            Ok(Ok(Plan { splices, facts, adds_final_newline: lead, unchanged }))
        }
        Ok(_) => Ok(Err(rejections)),
        Err(overlaps) => {
            for overlap in overlaps {
                if let (Some(&first), Some(&second)) = (named.get(overlap.first), named.get(overlap.second)) {
                    rejections.push(Rejection::Overlap { first, second });
                }
            }
            Ok(Err(rejections))
        }
    }
}

/// Whether the new bytes begin with a byte order mark where the old did not, or with another: FF FE, that of UTF-16, is
/// part of UTF-32's where U+0000 comes to stand behind it. In encodings that have no mark its bytes are text.
fn changes_bom<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    if !file.scan.encoding.is_unicode() {
        return Ok(false);
    }
    let new = Spliced::new(file.source, splices);
    Ok(sniff_bom(&read_range(&new, 0..new.size().min(4))?) != file.scan.bom.then_some(file.scan.encoding))
}

/// Whether the new bytes decode. Of ISO-2022-JP that is not a matter of course: an escape sequence may come to stand
/// beside another, which is an error by the WHATWG standard.
fn still_decodes<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    let new = Spliced::new(file.source, splices);
    let mut validator = Validator::new(file.scan.encoding);
    for_each_chunk(&new, 0..new.size(), |_, chunk| {
        validator.feed(chunk);
        true
    })?;
    Ok(validator.finish().is_none())
}

/// Where a character of new text that the encoding lacks stands in it: its line, and its place there in characters from 1.
#[must_use]
pub fn place_of(text: &str, fault: &Unencodable) -> (LineNumber, u64) {
    let before: Vec<char> = text.chars().take(fault.index).collect();
    let line = before.iter().filter(|character| **character == '\n').count() as u64;
    let column = before.iter().rev().take_while(|character| **character != '\n').count() as u64 + 1;
    (LineNumber::from_index(line), column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Digest, digest_of};
    use crate::rejection::Evidence;
    use crate::scan::Scanner;
    use crate::source::read_range;

    pub(super) fn scan(bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes);
        scanner.finish()
    }

    /// What a file becomes, or all that is wrong with a request for it, on one line.
    pub(super) fn told(file: &str, resolution: Resolution) -> String {
        let plan = match resolution {
            Ok(plan) => plan,
            Err(rejections) => return rejections.iter().map(brief).collect::<Vec<_>>().join("; "),
        };
        let new = Spliced::new(file.as_bytes(), &plan.splices);
        let new = String::from_utf8(read_range(&new, 0..new.size()).unwrap()).unwrap();
        assert_eq!(plan.unchanged, new == file);
        let loose = plan.facts.iter().any(|fact| fact.tier != Tier::Exact);
        let lead = if plan.adds_final_newline { " and ends the last line first" } else { "" };
        format!("{new:?}{}{lead}", if loose { " but for blanks" } else { "" })
    }

    fn brief(rejection: &Rejection) -> String {
        match rejection {
            Rejection::HashMismatch { fit: Fit::Unsure { line, around }, .. } => {
                format!("HashMismatch, unsure of {line} in {:?}", around.text)
            }
            Rejection::HashMismatch { fit, .. } => format!("HashMismatch, {fit:?}"),
            Rejection::InvalidRange { start, end, .. } => format!("InvalidRange {start} to {end}"),
            Rejection::LineOutOfRange { start, end, total, .. } => {
                format!("LineOutOfRange {start} to {end:?} of {total}")
            }
            Rejection::RangeHashMismatch { lines, evidence, .. } => {
                format!("RangeHashMismatch {lines:?}{}", evident(evidence))
            }
            Rejection::ContentMismatch { lines, evidence, .. } => {
                format!("ContentMismatch {lines:?}{}", evident(evidence))
            }
            Rejection::NoMatch { evidence, .. } => format!("NoMatch{}", evident(evidence)),
            Rejection::AmbiguousMatch { count, tier, evidence, .. } => {
                format!("AmbiguousMatch {count} {tier:?}{}", evident(evidence))
            }
            Rejection::Overlap { first, second } => format!("Overlap {:?} {:?}", first.1, second.1),
            other => format!("{other:?}"),
        }
    }

    fn evident(evidence: &Evidence) -> String {
        let parts = [
            evidence.actual.as_ref().map(|actual| format!(", is {:?}", actual.text)),
            (!evidence.found_at.is_empty()).then(|| format!(", at {:?}", evidence.found_at)),
            evidence.nearest.first().map(|near| format!(", near {:?}", near.of)),
            evidence.cause.map(|cause| format!(", {cause:?}")),
        ];
        parts.into_iter().flatten().collect()
    }

    #[test]
    fn no_edit_makes_another_byte_order_mark() {
        let delete_first = |file: &[u8]| {
            let scan = scan(file);
            let scanned = Scanned::new(file, &scan);
            let Ok(line) = scanned.bytes_of(LineRange::new(LineNumber::FIRST, 1));
            let Ok(digest) = digest_of(file, line);
            let range_hash = DigestPrefix::parse(&digest.to_string());
            let Ok(done) = delete(scanned, None, &[GuardedRange { start: 1, end: Some(1), range_hash }]);
            done.map(|plan| plan.splices)
                .map_err(|rejections| rejections.iter().map(brief).collect::<String>())
        };
        let refused = Err("ByteOrderMark { at: At { entry: 0, patch: 0, range: Some(0) } }".to_owned());
        assert_eq!(delete_first(b"a\n\xEF\xBB\xBFb\n"), refused);
        // With U+0000 behind it the mark of UTF-16 becomes that of UTF-32.
        assert_eq!(delete_first(b"\xFF\xFEa\0\n\0\0\0b\0"), refused);
        assert!(delete_first(b"\xFF\xFEa\0\n\0b\0\0\0").is_ok());
    }

    /// The digest that a client would remember of `bytes`.
    pub(super) fn tag(bytes: &str) -> DigestPrefix {
        DigestPrefix::parse(&Digest::of(bytes.as_bytes()).to_string()).unwrap()
    }
}
