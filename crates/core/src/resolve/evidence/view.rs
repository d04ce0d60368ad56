//! Makes evidence from search results, with excerpts of the file.

use super::super::distinguishing::distinguishing_lines;
use super::super::plan::Claim;
use super::super::request::MatchOptions;
use crate::digest::{Digest, DigestPrefix, digest_of};
use crate::line::{LineNumber, LineRange};
use crate::matching::{CLOSEST, trim_blanks};
use crate::mismatch::{Hit, Intended, LineWindow, find};
use crate::rejection::{At, Evidence, Excerpt, MatchKind, MatchPlace, Normalization};
use crate::scan::Scanned;
use crate::show::excerpt;
use crate::source::{Source, read_range};

/// The maximum number of places that are shown with their text.
const MAX_SHOWN: usize = 3;
/// The maximum number of lines, and of bytes, of an excerpt.
const MAX_LINES: u64 = 20;
const MAX_BYTES: usize = 2000;
/// The number of characters that an excerpt shows before the first one that differs, if the line is too long
/// to be shown whole.
const CHARS_BEFORE: u64 = 40;
/// The maximum number of bytes that are hashed to look for lines with a remembered digest.
const MAX_HASHED: u64 = 32 * 1024 * 1024;

/// The place at which lines first differ from a text: the line, and the number of the character in it, from
/// 1.
pub(super) type Difference = (LineNumber, u64);

/// The inputs from which evidence is collected.
pub(super) struct View<'a, S: ?Sized> {
    pub(super) file: Scanned<'a, S>,
    pub(super) options: MatchOptions,
    /// The part of the file that is searched.
    pub(super) window: &'a LineWindow,
    /// The replacements of the request's patches that did not fail.
    pub(super) claims: &'a [&'a Claim],
    /// The new text of each patch.
    pub(super) new_strings: &'a [&'a str],
}

impl<S: Source + ?Sized> View<'_, S> {
    /// Collects evidence about a text that is not in the named lines or, without named lines, not in the
    /// file.
    pub(super) fn mismatch(
        &self,
        at: At,
        old: &str,
        new: &str,
        named: Option<LineRange>,
    ) -> Result<Evidence, S::Error> {
        let intended = find(self.window, old, named, self.options.strict);
        let hits = intended.hits();
        let is_text = hits.first().is_some_and(Hit::is_text);
        if !is_text && let Some(after) = self.dependency(at, old, new)? {
            return Ok(after);
        }
        let applied = self.applied(old, new, named, &intended);
        if let (Intended::Vague(hit), None) = (&intended, applied) {
            return Ok(Evidence::Nothing(Some(self.place(hit, old, true)?)));
        }
        let applied = match applied {
            Some((lines, is_sure)) => {
                let text = Some(self.excerpt(lines, None)?);
                let place = MatchPlace { text, ..MatchPlace::new(lines, MatchKind::Applied) };
                if is_sure {
                    return Ok(Evidence::Applied(place));
                }
                Some(place)
            }
            None => None,
        };
        let hits = if matches!(intended, Intended::Vague(_)) { &[] } else { hits };
        let most = if is_text { CLOSEST } else { MAX_SHOWN };
        let shown = hits.iter().take(most).map(|hit| self.place(hit, old, !is_text));
        let mut places: Vec<MatchPlace> = shown.collect::<Result<_, _>>()?;
        if let (None, Intended::One(_), [one]) = (&applied, &intended, places.as_slice()) {
            return Ok(Evidence::One(one.clone()));
        }
        if (2..=MAX_SHOWN).contains(&hits.len()) {
            let lines: Vec<LineRange> = places.iter().map(|place| place.lines).collect();
            let contexts = distinguishing_lines(self.file, &lines)?;
            places.iter_mut().zip(contexts).for_each(|(place, context)| place.context = context);
        }
        places.splice(0..0, applied);
        Ok(if places.is_empty() { Evidence::Nothing(None) } else { Evidence::Several(places) })
    }

    /// Collects evidence about a range that does not have its expected digest.
    pub(super) fn range_hash(
        &self,
        lines: LineRange,
        tag: &DigestPrefix,
        new: &str,
    ) -> Result<Evidence, S::Error> {
        let applied = self.applied("", new, Some(lines), &Intended::Nothing);
        if let Some((there, true)) = applied.filter(|(there, _)| there.start() == lines.start()) {
            return Ok(Evidence::Applied(MatchPlace::new(there, MatchKind::Applied)));
        }
        let places = with_digest(self.file, lines, |digest| tag.matches(digest))?;
        let place = |lines| MatchPlace::new(lines, MatchKind::Lines(Normalization::Exact));
        Ok(match places.as_slice() {
            [] => Evidence::Nothing(None),
            [one] => Evidence::One(MatchPlace { digest: Some(self.digest(*one)?), ..place(*one) }),
            all => Evidence::Several(all.iter().copied().map(place).collect()),
        })
    }

    fn place(&self, hit: &Hit, old: &str, is_shown: bool) -> Result<MatchPlace, S::Error> {
        let lines = hit.lines;
        let difference = if hit.is_text() { None } else { self.difference(lines, old) };
        let mut text = if is_shown { Some(self.excerpt(lines, difference)?) } else { None };
        if let Some(text) = text.as_mut().filter(|_| !hit.is_sure) {
            text.digest = None;
        }
        let digest = if hit.is_text() {
            // The text there is the text that was sent, so it need not be shown.
            Some(self.digest(lines)?)
        } else {
            text.as_ref().and_then(|text| text.digest)
        };
        let differs_at = difference.map(|(line, _)| line);
        Ok(MatchPlace { lines, how: hit.how, digest, text, differs_at, context: None })
    }

    /// Makes an excerpt of the lines that includes the place `at` which they differ. It starts at their first
    /// line if they all fit, else at the line before that place; if that line fills the excerpt, at the line
    /// of the place; and if this one is too long, at some characters before the place.
    pub(super) fn excerpt(&self, lines: LineRange, at: Option<Difference>) -> Result<Excerpt, S::Error> {
        let from = |start, from_char| excerpt(self.file, lines, (start, from_char), MAX_LINES, MAX_BYTES);
        let head = from(lines.start(), 1)?;
        let Some((line, character)) = at.filter(|_| head.truncated) else { return Ok(head) };
        if let Some(before) = line.index().checked_sub(1).filter(|before| *before >= lines.start().index()) {
            let excerpt = from(LineNumber::from_index(before), 1)?;
            if excerpt.text.lines().count() > 1 {
                return Ok(excerpt);
            }
        }
        let excerpt = from(line, 1)?;
        if excerpt.text.ends_with('\n') || !excerpt.truncated {
            return Ok(excerpt);
        }
        from(line, character.saturating_sub(CHARS_BEFORE).max(1))
    }

    /// Returns the place at which the lines first differ from `old`; `None` if no line differs, or the lines
    /// are not all in the window.
    pub(super) fn difference(&self, lines: LineRange, old: &str) -> Option<Difference> {
        let mut wanted = old.strip_suffix('\n').unwrap_or(old).split('\n');
        let there = (lines.start().index()..).zip(self.window.text_of(lines));
        there.filter(|_| self.window.holds(lines)).find_map(|(index, line)| {
            let wanted = wanted.next().unwrap_or_default();
            let is_same = wanted == line || !self.options.strict && trim_blanks(wanted) == trim_blanks(line);
            let common = || wanted.chars().zip(line.chars()).take_while(|(a, b)| a == b).count() as u64;
            (!is_same).then(|| (LineNumber::from_index(index), common() + 1))
        })
    }

    /// Returns the digest of lines of the file.
    fn digest(&self, lines: LineRange) -> Result<Digest, S::Error> {
        self.file.digest_of(self.file.bytes_of(lines)?)
    }
}

/// Finds ranges of as many lines as `lines` that have a wanted digest. Returns the [`CLOSEST`] ranges that
/// are closest to `lines`; none if too much would have to be hashed.
pub(super) fn with_digest<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    lines: LineRange,
    is_wanted: impl Fn(&Digest) -> bool,
) -> Result<Vec<LineRange>, S::Error> {
    let all = &file.scan.lines;
    let (size, count) = (file.scan.size, usize::try_from(lines.count()).unwrap_or(usize::MAX));
    if lines.count().saturating_mul(size) > MAX_HASHED {
        return Ok(Vec::new());
    }
    let bytes = read_range(file.source, 0..size)?;
    let mut starts = Vec::new();
    let held = Scanned::new(bytes.as_slice(), file.scan);
    held.for_each_line(all.all().start(), all.bytes(), 0, |line| {
        starts.push(line.start);
        true
    })
    .unwrap_or_else(|never| match never {});
    starts.push(all.bytes().end);
    let mut places = Vec::new();
    for (index, (from, to)) in starts.iter().zip(starts.get(count..).unwrap_or_default()).enumerate() {
        let digest = digest_of(bytes.as_slice(), *from..*to).unwrap_or_else(|never| match never {});
        if is_wanted(&digest) {
            places.push(LineRange::new(LineNumber::from_index(index as u64), lines.count()));
        }
    }
    places.sort_by_key(|place| place.distance(lines));
    places.truncate(CLOSEST);
    Ok(places)
}
