//! Turns the failed matches of a request into rejections with evidence. Finds out whether an edit that failed
//! has already been made, and whether a missing text would be in the file after an earlier patch.

use std::collections::HashSet;

use super::super::plan::Claim;
use super::super::request::{GuardedRange, MatchOptions};
use super::view::{View, with_digest};
use crate::digest::{Digest, DigestPrefix};
use crate::line::{LineNumber, LineRange};
use crate::matching::trim_blanks;
use crate::mismatch::{Hit, Intended, LineWindow, compact, is_wrapper, places_of, readings, tells_place};
use crate::rejection::{At, Evidence, MatchKind, Normalization, Rejection};
use crate::scan::Scanned;
use crate::source::{Source, read_range};

/// The maximum number of failures of one request for which evidence is searched.
const MAX_EXPLAINED: usize = 8;

/// A failed match, before the cause is known.
pub(in super::super) struct Failed<'a> {
    pub(in super::super) at: At,
    /// The lines that the request names; `None` if it names none, and the text is nowhere in the file.
    pub(in super::super) lines: Option<LineRange>,
    /// The text that these lines, or the file, should have; empty if only the digest differs.
    pub(in super::super) old: &'a str,
    pub(in super::super) new: &'a str,
    /// If the lines do not have the digest that the client remembers: their digest, the client's, and whether
    /// the lines have the text that the client also sent.
    pub(in super::super) hash: Option<(Digest, &'a DigestPrefix, bool)>,
}

/// Turns failures into rejections, with the evidence that helps to repair them. `claims` has the replacements
/// of all patches of the request, including those that failed, and `new_strings` the new text of each patch.
pub(in super::super) fn explain<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    options: MatchOptions,
    (claims, new_strings): (&[Claim], &[&str]),
    failed: Vec<Failed<'_>>,
    rejections: &mut Vec<Rejection>,
) -> Result<(), S::Error> {
    let all: Vec<At> = failed.iter().map(|failure| failure.at).collect();
    let resolved: Vec<&Claim> = claims.iter().filter(|claim| !all.contains(&claim.at)).collect();
    let mut window = LineWindow::default();
    for (index, Failed { at, lines, old, new, hash }) in failed.into_iter().enumerate() {
        let is_searched = index < MAX_EXPLAINED;
        if is_searched && !window.has_all_of(file) {
            window = LineWindow::new(file, lines)?;
        }
        let view = View { file, options, window: &window, claims: &resolved, new_strings };
        let evidence = Box::new(match (lines, hash) {
            _ if !is_searched => Evidence::NotSearched,
            (Some(lines), Some((_, tag, _))) => view.range_hash(lines, tag, new)?,
            _ => view.mismatch(at, old, new, lines)?,
        });
        let Some(lines) = lines else {
            rejections.push(Rejection::NoMatch { at, evidence });
            continue;
        };
        let difference = if hash.is_none() { view.difference(lines, old) } else { None };
        let actual = Box::new(view.excerpt(lines, difference)?);
        rejections.push(match hash {
            Some((digest, tag, is_old_there)) => {
                let expected = Box::new(tag.clone());
                Rejection::RangeHashMismatch { at, lines, digest, expected, is_old_there, actual, evidence }
            }
            None => Rejection::ContentMismatch { at, lines, actual, evidence },
        });
    }
    Ok(())
}

/// Finds a line whose digest was sent as the digest of the file. Returns `None` also if the file is too large
/// to search.
pub(in super::super) fn line_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    tag: &DigestPrefix,
) -> Result<Option<LineNumber>, S::Error> {
    let first = LineRange::new(LineNumber::from_index(0), 1);
    let found = with_digest(file, first, |digest| tag.matches(digest))?;
    Ok(found.first().map(|lines| lines.start()))
}

/// Whether the lines of any of these ranges also stand elsewhere in the file, or whether this is not known.
/// Then the lines that were meant can have moved. All ranges exist.
pub(in super::super) fn may_have_moved<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    ranges: &[GuardedRange],
) -> Result<bool, S::Error> {
    if ranges.len() > MAX_EXPLAINED {
        return Ok(true);
    }
    for range in ranges {
        let Ok(lines) = range.lines(file.scan, At::default()) else {
            return Ok(true);
        };
        let digest = file.digest_of(file.bytes_of(lines)?)?;
        if with_digest(file, lines, |other| *other == digest)?.len() != 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The length in characters below which a new text counts only as exactly the expected lines: elsewhere it
/// can stand by chance.
const LEAST_CHARS: usize = 8;
/// The maximum length in bytes of each of the two texts.
const LONGEST: usize = 1024 * 1024;
/// The maximum number of lines above and below the new text that are searched for old lines.
const MOST_AROUND: u64 = 1_000;
/// The maximum number of old lines whose parts are searched for.
const MOST_PARTS: usize = 200;

impl<S: ?Sized> View<'_, S> {
    /// Returns where the new text already stands, if the reason may be that the edit has been made, and
    /// whether this is sure. It is sure if the new text has a line that the old text lacks, no line that the
    /// edit removes is left, and the new text is where the old text was meant to be.
    pub(super) fn applied(
        &self,
        old: &str,
        new: &str,
        named: Option<LineRange>,
        intended: &Intended,
    ) -> Option<(LineRange, bool)> {
        let is_long = new.trim().chars().nth(LEAST_CHARS - 1).is_some();
        if new.trim().is_empty() || old.len().max(new.len()) > LONGEST {
            return None;
        }
        let hit = intended.hits().first();
        let certain = hit.filter(|hit| {
            matches!(intended, Intended::One(_)) && !matches!(hit.how, MatchKind::Fuzzy | MatchKind::Part(_))
        });
        // The new text must be whole lines in the named lines, or at the place of the old text.
        let at = |place: LineRange| {
            let is_there = |there: &LineRange| *there == place || is_long && there.overlaps(place);
            places_of(self.window, new, true).into_iter().find(is_there)
        };
        let anywhere = || match places_of(self.window, new, false).as_slice() {
            [one] if is_long => Some(*one),
            _ => None,
        };
        let judged = |there: LineRange| self.judged(there, old, new);
        if let Some((there, is_sure)) = named.map_or_else(anywhere, at).and_then(judged)
            && let Some(is_sure) = within(there, is_sure, old.contains(new), named, (hit, certain))
        {
            return Some((there, is_sure));
        }
        // An edit that was made can have put new lines around the old text.
        let around = certain.and_then(|hit| Some((hit.lines, at(hit.lines).and_then(judged)?)));
        if let Some((place, (there, true))) = around
            && there.contains(place)
        {
            return Some((there, true));
        }
        // The new text may also be meant if it stands closer to the named lines than the text that is like
        // the old one.
        let (there, _) =
            named.filter(|_| certain.is_none_or(|hit| !hit.is_text())).and_then(|_| judged(anywhere()?))?;
        let is_closer = named.is_some_and(|named| {
            hit.is_none_or(|hit| {
                !hit.lines.overlaps(named)
                    && !hit.lines.overlaps(there)
                    && there.distance(named) < hit.lines.distance(named)
            })
        });
        is_closer.then_some((there, false))
    }

    /// Judges a place where the new text stands. Returns it, and whether the edit was surely made; `None` if
    /// the new text is a part of the old text and a line that the edit removes is still there. A part of the
    /// old text stands wherever the old text does, so it proves nothing then.
    fn judged(&self, there: LineRange, old: &str, new: &str) -> Option<(LineRange, bool)> {
        let undone = |line: &str| compact(line, Normalization::Escapes);
        let readings = readings(old);
        let own = || readings.iter().flat_map(|reading| &reading.lines);
        let old_lines: HashSet<&str> = own().map(|line| trim_blanks(line)).collect();
        let brings = new.lines().map(trim_blanks).any(|line| !line.is_empty() && !old_lines.contains(line));
        let new_lines: HashSet<String> = new.lines().map(undone).collect();
        let taken = own().filter(|line| !is_wrapper(line)).map(|line| undone(line));
        let taken: HashSet<String> = taken.filter(|line| !new_lines.contains(line)).collect();
        let around = (old.lines().count() as u64).min(MOST_AROUND);
        // A line also counts as left if it was cut short, or joined with others.
        let is_part = |whole: &str, part: &str| {
            tells_place([part]) && (whole.starts_with(part) || whole.ends_with(part))
        };
        let is_left = self.window.text_of(there.widened(around)).map(undone).any(|line| {
            !line.is_empty()
                && !new_lines.contains(&line)
                && (taken.contains(&line)
                    || taken.iter().take(MOST_PARTS).any(|own| is_part(&line, own) || is_part(own, &line)))
        });
        (!is_left || !old.contains(new)).then_some((there, brings && !is_left))
    }
}

/// Judges a new text by the place that the old text may have: inside that place, the new text is only the
/// part that the edit would keep. Returns whether the edit was surely made; `None` if it was not made.
fn within(
    there: LineRange,
    is_sure: bool,
    is_part: bool,
    named: Option<LineRange>,
    (hit, certain): (Option<&Hit>, Option<&Hit>),
) -> Option<bool> {
    if let Some(place) = certain.map(|hit| hit.lines) {
        let begins = named.is_some_and(|named| named.start() == there.start());
        return match place {
            _ if there.contains(place) => Some(is_sure),
            _ if there.overlaps(place) || named.is_none() => None,
            _ => Some(is_sure && begins),
        };
    }
    let Some(hit) = hit.filter(|hit| hit.is_close()) else { return Some(is_sure) };
    let is_inner = hit.lines != there && hit.lines.contains(there);
    if is_inner && (is_part || !is_sure) {
        return None;
    }
    Some(is_sure && (named.is_some() || hit.lines.overlaps(there)))
}

/// The maximum number of replacements that are tried.
const MAX_TRIED: usize = 64;
/// The maximum number of lines, and of bytes, of a text that is looked for.
const MAX_LINES: u64 = 200;
const MAX_BYTES: u64 = 64 * 1024;
/// The maximum length in bytes of a merged text that is shown.
const LONGEST_MERGED: usize = 2000;

impl<S: Source + ?Sized> View<'_, S> {
    /// Returns [`Evidence::After`] if an earlier patch would put `old`, or a part of it, into the file;
    /// `None` if no earlier patch does, or `old` is too long.
    pub(super) fn dependency(&self, at: At, old: &str, new: &str) -> Result<Option<Evidence>, S::Error> {
        let lines = old.lines().count() as u64;
        if old.trim().is_empty() || lines > MAX_LINES || old.len() as u64 > MAX_BYTES {
            return Ok(None);
        }
        let earlier = self.claims.iter().filter(|claim| claim.at.patch < at.patch);
        for claim in earlier.take(MAX_TRIED) {
            if self.stands_after(claim, old, lines)? {
                let earlier = self.new_strings.get(claim.at.patch).copied().unwrap_or_default();
                let is_within_once = earlier.matches(old).count() == 1;
                let merged = is_within_once.then(|| earlier.replacen(old, new, 1));
                let merged = merged.filter(|merged| merged.len() <= LONGEST_MERGED);
                return Ok(Some(Evidence::After { patch: claim.at, merged }));
            }
        }
        Ok(None)
    }

    /// Whether `old`, which has `lines` lines, would stand where the claim puts its new text, and include
    /// some of the new text.
    fn stands_after(&self, claim: &Claim, old: &str, lines: u64) -> Result<bool, S::Error> {
        let (file, splice) = (self.file, &claim.splice);
        let first = claim.lines.start().index().saturating_sub(lines);
        let above = file.offset_of(LineNumber::from_index(first))?;
        let end = claim.lines.end().saturating_add(lines).min(file.scan.lines.count());
        let below =
            file.bytes_of(LineRange::new(LineNumber::from_index(first), end.saturating_sub(first)))?.end;
        let (above, below) = (above..splice.at.start, splice.at.end..below.max(splice.at.end));
        let size =
            above.end.saturating_sub(above.start) + (below.end - below.start) + splice.insert.len() as u64;
        if size > 4 * MAX_BYTES {
            return Ok(false);
        }
        let (above, below) = (read_range(file.source, above)?, read_range(file.source, below)?);
        let text = |parts: &[&[u8]]| {
            let parts = parts.concat();
            let text = file.scan.encoding.decode(&parts).unwrap_or_default();
            text.replace("\r\n", "\n").replace('\r', "\n")
        };
        let needs = |parts: &[&[u8]]| text(parts).contains(old);
        Ok(needs(&[&above, &splice.insert, &below]) && !needs(&[&above]) && !needs(&[&below]))
    }
}
