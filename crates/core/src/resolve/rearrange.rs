//! Resolves a request for whole lines of a file: removes lines, inserts new ones, and moves and copies lines
//! within the file.

use std::collections::BTreeMap;
use std::ops::Range;

use super::evidence::{Failed, explain};
use super::guard::{guarded, unless_moved};
use super::plan::{Claim, Resolution, SpliceInfo, plan};
use super::request::{GuardedRange, MAX_INSERTED, MatchOptions};
use super::review::{NamedBy, Surroundings, review};
use super::seams::{Terminators, seams_around};
use crate::digest::DigestPrefix;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Fit, Rejection, TextKind};
use crate::scan::Scanned;
use crate::show::excerpt;
use crate::source::{Source, read_range};
use crate::splice::Splice;

/// The place at which lines are inserted, given by a line number, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// After this line; 0 for the top of the file.
    After(u64),
    /// Before this line; one more than the last line for the end of the file.
    Before(u64),
}

/// One part of a request for whole lines: removes, moves, copies or inserts lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineEdit<'a> {
    /// The part of the request that a rejection names.
    pub at: At,
    /// The lines.
    pub lines: EditedLines<'a>,
    /// The place where the lines are inserted; `None` for lines that are only removed.
    pub to: Option<Position>,
}

/// The lines of a [`LineEdit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditedLines<'a> {
    /// Lines of the file itself. They keep their bytes at the new place.
    Own {
        /// The lines.
        range: &'a GuardedRange,
        /// Whether the lines are removed from their old place.
        is_removed: bool,
    },
    /// New text, with `\n` for line ends.
    New(&'a str),
}

/// The rules for lines that are put into a file.
#[derive(Clone, Copy)]
pub(super) struct Placing {
    /// The kind of the text whose new parts are reviewed; `None` to review nothing.
    pub(super) review: Option<TextKind>,
    /// The maximum number of bytes that one request inserts.
    pub(super) max_inserted: u64,
    /// Whether a file without a final newline still has none after lines are inserted at its end.
    pub(super) keeps_end: bool,
}

impl Placing {
    /// Returns the rules for text that a client sends: it is reviewed, if `review` is given, and its last
    /// line gets a terminator.
    pub(super) fn for_new_text(review: Option<TextKind>) -> Self {
        Self { review, max_inserted: MAX_INSERTED, keeps_end: false }
    }
}

/// The number of lines above and below a place that a rejection shows if the file has another digest than
/// expected.
const AROUND: u64 = 3;
/// The maximum number of bytes that this rejection shows.
const MAX_BYTES: usize = 2000;

/// Resolves a request to move, copy, remove and insert whole lines. All line numbers refer to the file before
/// the edit. Lines that are inserted at the same place stand there in the order of the request.
///
/// Lines of the file keep their bytes; new text takes the line ends of its place. A last line without a
/// terminator gets one if lines follow it. A file without a final newline also has none after lines are
/// inserted at its end. Lines cannot be inserted inside themselves, or inside removed lines.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. At most `max_inserted`
/// bytes are inserted; more are rejected. The only errors are those of the source.
pub fn rearrange<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    edits: &[LineEdit<'_>],
    max_inserted: u64,
) -> Result<Resolution, S::Error> {
    by_rules(file, file_hash, edits, Placing { review: None, max_inserted, keeps_end: true })
}

/// Does what [`rearrange`] does, by these rules.
pub(super) fn by_rules<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    edits: &[LineEdit<'_>],
    rules: Placing,
) -> Result<Resolution, S::Error> {
    let mut resolution = guarded(file, file_hash, unguarded(file, edits, rules)?)?;
    // Only the digest of the file guards a place given by a line number. Only the top is surely the place
    // that was meant.
    let named = edits.iter().find_map(|edit| match edit.to {
        Some(Position::After(named @ 1..) | Position::Before(named @ 2..)) => Some(named),
        _ => None,
    });
    if let Err(rejections) = &mut resolution
        && let [Rejection::HashMismatch { fit: fit @ Fit::Holds, .. }] = rejections.as_mut_slice()
        && let Some(named) = named
    {
        let total = file.scan.lines.count();
        // `Before` the line after the last means the end of the file.
        let line = LineNumber::from_index(named.min(total) - 1);
        let first = line.index().saturating_sub(AROUND);
        let last = (line.get() + AROUND).min(total);
        let around = LineRange::new(LineNumber::from_index(first), last - first);
        let from = (around.start(), 1);
        let around = Box::new(excerpt(file, around, from, around.count(), MAX_BYTES)?);
        *fit = Fit::Unsure { line, around };
    }
    let own = edits.iter().filter_map(|edit| match edit.lines {
        EditedLines::Own { range, .. } => Some(range.clone()),
        EditedLines::New(_) => None,
    });
    unless_moved(file, resolution, &own.collect::<Vec<_>>())
}

/// Returns the text of lines of `file`, to be inserted into another file. The lines keep their own
/// terminators; a last line without one gets one. The inner error has all rejections. `max_bytes` is the
/// maximum length of the lines in `file`.
///
/// The only outer errors are those of the source.
pub fn text_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    at: At,
    range: &GuardedRange,
    max_bytes: u64,
) -> Result<Result<String, Vec<Rejection>>, S::Error> {
    let (mut rejections, mut failed) = (Vec::new(), Vec::new());
    let named = named(file, (at, range), &mut rejections, &mut failed)?;
    explain(file, MatchOptions::default(), (&[], &[]), failed, &mut rejections)?;
    let Some((lines, bytes)) = named.filter(|_| rejections.is_empty()) else { return Ok(Err(rejections)) };
    let size = bytes.end - bytes.start;
    if size > max_bytes {
        return Ok(Err(vec![Rejection::TooMuchText { at, bytes: size, most: max_bytes }]));
    }
    let bytes = read_range(file.source, bytes)?;
    let Ok(text) = file.scan.encoding.decode(&bytes) else {
        return Ok(Err(vec![Rejection::ShiftState { at, lines }]));
    };
    let mut text = text.into_owned();
    let last = LineNumber::from_index(lines.end().saturating_sub(1));
    if file.cursor().ending_of(last)?.is_none() {
        text.push_str(Terminators::of(file, here(lines.end()), 1)?.get(0).as_str());
    }
    Ok(Ok(text))
}

/// A block of lines that is inserted at a place: the part of the request, and new text (`Ok`) or lines of the
/// file with their bytes' range (`Err`).
type Placed<'a> = (At, Result<&'a str, (LineRange, Range<u64>)>);

/// Does what [`by_rules`] does, without comparing the digest of the file.
pub(super) fn unguarded<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    edits: &[LineEdit<'_>],
    rules: Placing,
) -> Result<Resolution, S::Error> {
    let total = file.scan.lines.count();
    let (mut claims, mut rejections, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut places = BTreeMap::<u64, Vec<Placed<'_>>>::new();
    for &LineEdit { at, lines, to } in edits {
        let block = match lines {
            EditedLines::New(text) => {
                if let Err(fault) = file.scan.encoding.encode(text) {
                    rejections.push(Rejection::unencodable(at, text, &fault));
                }
                Some(Ok(text))
            }
            EditedLines::Own { range, is_removed } => {
                let own = named(file, (at, range), &mut rejections, &mut failed)?;
                if let Some((lines, bytes)) = own.clone().filter(|_| is_removed) {
                    let splice = Splice { at: bytes, insert: Vec::new() };
                    claims.push(Claim { at, lines, splice, fact: SpliceInfo::of(Tier::Exact) });
                }
                own.map(Err)
            }
        };
        let Some(to) = to else { continue };
        let (named, above) = match to {
            Position::After(line) => (line, Some(line)),
            Position::Before(line) => (line, line.checked_sub(1)),
        };
        let Some(above) = above.filter(|above| *above <= total) else {
            let start = i64::try_from(named).unwrap_or(i64::MAX);
            rejections.push(Rejection::LineOutOfRange { at, start, end: None, total });
            continue;
        };
        // For lines that are removed, overlapping claims show that the place is inside them.
        if let (EditedLines::Own { is_removed: false, .. }, Some(Err((lines, _)))) = (lines, &block)
            && lines.start().index() < above
            && above < lines.end()
        {
            rejections.push(Rejection::Overlap { first: (at, *lines), second: (at, here(above)) });
        }
        places.entry(above).or_default().extend(block.map(|block| (at, block)));
    }
    explain(file, MatchOptions::default(), (&[], &[]), failed, &mut rejections)?;
    let is_open = file.scan.lines.is_unterminated();
    let is_last_removed = claims.iter().any(|claim| claim.lines.end() == total);
    let mut inserted = 0;
    for (above, placed) in places {
        let is_end = is_open && above == total;
        let ends = (is_end && !is_last_removed, is_end && rules.keeps_end);
        let most = rules.max_inserted;
        match insertion(file, above, &placed, ends, (&mut inserted, most))? {
            Ok(claim) if seams_around(file, &claim.splice.at)?.is_none() => {
                rejections.push(Rejection::ShiftState { at: claim.at, lines: claim.lines });
                claims.push(claim);
            }
            Ok(mut claim) => {
                if let (Some(kind), [(at, Ok(text))]) = (rules.review, &placed[..]) {
                    let offset = claim.splice.at.start;
                    let place = Surroundings::of(file, here(above), (offset, offset))?;
                    claim.fact.findings = review(NamedBy::Insertion, text, "", &place, kind);
                    let slip = claim.fact.findings.iter().find(|finding| finding.slip.is_certain());
                    rejections.extend(slip.map(|finding| Rejection::TextSlip {
                        at: *at,
                        lines: here(above),
                        slip: finding.slip,
                        indentation: String::new(),
                    }));
                }
                claims.push(claim);
            }
            Err(rejection) => rejections.extend(rejection),
        }
    }
    plan(file, claims, rejections)
}

/// Finds the lines of a range, and their byte range; `None` if the file does not have them. Adds whatever is
/// wrong with the range to `rejections` and `failed`.
fn named<'a, S: Source + ?Sized>(
    file: Scanned<'_, S>,
    (at, range): (At, &'a GuardedRange),
    rejections: &mut Vec<Rejection>,
    failed: &mut Vec<Failed<'a>>,
) -> Result<Option<(LineRange, Range<u64>)>, S::Error> {
    let lines = match range.lines(file.scan, at) {
        Ok(lines) => lines,
        Err(rejection) => {
            rejections.push(rejection);
            return Ok(None);
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
    Ok(Some((lines, bytes)))
}

/// Returns the empty range after the line `above`; 0 is the top of the file.
fn here(above: u64) -> LineRange {
    LineRange::new(LineNumber::from_index(above), 0)
}

/// Makes the claim for the blocks `placed` after the line `above`; 0 is the top of the file. With `leads`,
/// the line above first gets a terminator. With `is_open`, the last inserted line has none. `inserted` counts
/// the bytes that the request has inserted so far, at most `most`.
///
/// The inner error is the rejection; `None` if the encoding lacks a character, which the caller has already
/// rejected.
fn insertion<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    above: u64,
    placed: &[Placed<'_>],
    (leads, is_open): (bool, bool),
    (inserted, most): (&mut u64, u64),
) -> Result<Result<Claim, Option<Rejection>>, S::Error> {
    let (here, encoding) = (here(above), file.scan.encoding);
    let offset = file.offset_of(here.start())?;
    // In a file with mixed terminators, all new lines take the terminator of the same neighbour.
    let terminators = Terminators::of(file, here, 1)?;
    let Ok(end) = terminators.encode("\n", encoding) else { return Ok(Err(None)) };
    let mut insert = if leads { end.clone() } else { Vec::new() };
    // The length of the terminator of the last new line.
    let mut last = 0;
    for (at, placed) in placed {
        let size = match placed {
            Ok(text) => text.len() as u64,
            Err((_, bytes)) => bytes.end - bytes.start,
        };
        *inserted = inserted.saturating_add(size);
        if *inserted > most {
            return Ok(Err(Some(Rejection::TooMuchText { at: *at, bytes: *inserted, most })));
        }
        let mut bytes = match placed {
            Ok(text) => {
                let Ok(bytes) = terminators.encode(text, encoding) else { return Ok(Err(None)) };
                last = if text.ends_with('\n') { end.len() } else { 0 };
                bytes
            }
            Err((lines, bytes)) => {
                let ending =
                    file.cursor().ending_of(LineNumber::from_index(lines.end().saturating_sub(1)))?;
                let ending = ending.and_then(|ending| encoding.encode(ending.as_str()).ok());
                last = ending.map_or(0, |ending| ending.len());
                read_range(file.source, bytes.clone())?
            }
        };
        insert.append(&mut bytes);
        if last == 0 {
            insert.extend_from_slice(&end);
            last = end.len();
        }
    }
    if is_open {
        insert.truncate(insert.len() - last);
    }
    let at = placed.first().map(|(at, _)| *at).unwrap_or_default();
    let fact = SpliceInfo { lead: if leads { end.len() } else { 0 }, ..SpliceInfo::of(Tier::Exact) };
    Ok(Ok(Claim { at, lines: here, splice: Splice { at: offset..offset, insert }, fact }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Label;
    use crate::scan::Scanner;
    use crate::splice::Spliced;

    /// Moves a line of a file in the encoding `label`. Returns the new bytes of the file, or a rejection, and
    /// the text of the line.
    fn moved(
        bytes: &[u8],
        label: &str,
        line: i64,
        to: Position,
    ) -> (Result<Vec<u8>, String>, Option<String>) {
        let mut scanner = Scanner::new(Some(Label::parse(label).unwrap().encoding));
        scanner.feed(bytes);
        let scan = scanner.finish();
        let file = Scanned::new(bytes, &scan);
        let range = GuardedRange { start: line, end: Some(line), range_hash: None };
        let own = EditedLines::Own { range: &range, is_removed: true };
        let edits = [LineEdit { at: At::default(), lines: own, to: Some(to) }];
        let Ok(done) = rearrange(file, None, &edits, MAX_INSERTED);
        let Ok(text) = text_of(file, At::default(), &range, MAX_INSERTED);
        let new = done.map(|plan| {
            let new = Spliced::new(bytes, &plan.splices);
            read_range(&new, 0..new.size()).unwrap()
        });
        (new.map_err(|rejections| rejections[0].to_string()), text.ok())
    }

    #[test]
    fn bytes_of_any_encoding_are_moved() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(
            moved(&wide("a\r\nあ"), "utf-16-le", 1, Position::After(2)),
            (Ok(wide("あ\r\na")), is("a\r\n"))
        );
        assert_eq!(
            moved(&wide("a\r\nあ"), "utf-16-le", 2, Position::Before(1)),
            (Ok(wide("あ\r\na\r\n")), is("あ\r\n"))
        );
        // A line that ends in the Roman state can be neither moved nor read alone.
        let roman = b"one\n\x1b(Jtwo\nthree\x1b(B\nfour\n";
        let cut =
            |lines| format!("at lines {lines}, the edit would cut the file where its encoding cannot be cut");
        assert_eq!(moved(roman, "iso-2022-jp", 2, Position::After(0)), (Err(cut("2-2")), None));
        assert_eq!(moved(roman, "iso-2022-jp", 1, Position::After(2)), (Err(cut("3-2")), is("one\n")));
        let (done, text) = moved(roman, "iso-2022-jp", 1, Position::After(4));
        assert_eq!((done, text), (Ok(b"\x1b(Jtwo\nthree\x1b(B\nfour\none\n".to_vec()), is("one\n")));
    }
}
