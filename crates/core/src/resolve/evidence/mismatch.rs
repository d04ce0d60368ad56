//! Collects the findings about each kind of failure.

use std::cmp::Ordering;

use super::super::distinguishing::distinguishing_lines;
use super::extent::Sure;
use super::view::{LONG, MAX_LINES, TextShape, View};
use crate::cause::{Cause, cause, cause_inside, cause_without_place, end};
use crate::digest::{Digest, DigestPrefix};
use crate::line::LineRange;
use crate::matching::Tier;
use crate::nearest::{MAX_PLACES, SimilarPlace};
use crate::normalized::{GappedMatch, NormalizedMatch, NormalizedMatches};
use crate::rejection::{AlreadyApplied, At, Evidence, FoundBy, Intended, LineRole};
use crate::source::Source;

/// The most bytes of text in the file for which a cause is looked for, in failures that are not explained in
/// full.
const SHORT: usize = 2000;
/// The most bytes of text that was sent for which a cause is looked for at all: that takes some copies of it,
/// and more for each line.
const LONGEST_WITH_CAUSE: usize = 1024 * 1024;

impl<S: Source + ?Sized> View<'_, S> {
    fn is_cheap(&self, old: &str, new: &str) -> bool {
        old.len().max(new.len()) <= if self.thorough { LONGEST_WITH_CAUSE } else { LONG }
    }

    /// Looks into a range whose text is not the one that was sent.
    pub(super) fn content(
        &self,
        at: At,
        lines: LineRange,
        old: &str,
        new: &str,
    ) -> Result<Evidence, S::Error> {
        let is_cheap = self.is_cheap(old, new);
        let most = if self.thorough { LONG } else { SHORT };
        let whole = if is_cheap { self.whole(lines, most)? } else { None };
        let why = whole.as_deref().and_then(|whole| cause(old, whole));
        let mut evidence = Evidence::default();
        if !self.thorough {
            (evidence.cause, evidence.actual) = (why, Some(self.actual(lines)?));
            return Ok(evidence);
        }
        let difference = self.difference(lines, old, TextShape::Lines)?;
        evidence.actual = Some(self.with_difference(lines, difference)?);
        evidence.differs_at = difference.map(|at| at.line);
        evidence.made = if is_cheap { self.made_at(lines, old, new)? } else { None };
        let mut whole_old = old.to_owned();
        if !whole_old.ends_with('\n') {
            whole_old.push('\n');
        }
        evidence.found_at = self.places(&whole_old, true, Some(lines))?;
        if let Some(closest) = evidence.found_at.first() {
            // A line that both texts have, and the range lacks, stands next to the range: it is none too
            // many.
            let why = match why {
                Some(why) if why.is_at_ends() && closest.overlaps(lines) && share_ends(old, new) => {
                    Some(Cause::RangeTooShort)
                }
                Some(Cause::LineBreaks) if closest.overlaps(lines) => None,
                why => why,
            };
            evidence.cause = why.filter(|why| {
                why.is_slip()
                    || matches!(why, Cause::RangeTooLong | Cause::RangeTooShort)
                        && evidence.found_at.iter().any(|place| place.overlaps(lines))
            });
            // Lines that were named, and differ by a slip alone, are rather meant than others that do not
            // differ.
            let place = if why.is_some_and(Cause::is_slip) { Some(lines) } else { only(&evidence.found_at) };
            if let Some(place) = place {
                // What stands there is what was sent, so that it need not be shown.
                evidence.intended = Some(Intended { lines: place, digest: self.digest(place)?, text: None });
                evidence.made = evidence.made.and_then(|made| outside(made, place, Some(lines)));
            }
            return Ok(evidence);
        }
        evidence.dependency = self.dependency(at, old, new)?;
        if evidence.dependency.is_some() {
            return Ok(evidence);
        }
        let is_alike = why.is_some_and(Cause::is_slip);
        let found = if is_alike { NormalizedMatches::default() } else { self.normalized(old, Some(lines))? };
        let alike = match found.alike_at(Some(lines)) {
            _ if is_alike => Some(lines),
            Some(place) => self.whole_place(place, old)?,
            None => None,
        };
        // The line end behind a blank line is that line.
        let part = old.strip_suffix('\n').filter(|part| !part.ends_with('\n')).unwrap_or(old);
        let parts = if part.is_empty() { Vec::new() } else { self.places(part, false, Some(lines))? };
        // What stands there as it was sent, and goes further, has nothing around it that would have to be
        // undone; but a blank line too many at its head is the end of any line.
        let reaches_further = |alike: LineRange| {
            let is_further = |part: LineRange| part.overlaps(alike) && part.count() > alike.count();
            !old.starts_with('\n') && only(&parts).is_some_and(is_further)
        };
        if let Some(place) = alike.filter(|place| !reaches_further(*place)) {
            self.add_certain_place(&mut evidence, place, FoundBy::Alike, (old, new), Some(lines))?;
            return Ok(evidence);
        }
        evidence.found_at = parts;
        if let Some(place) = only(&evidence.found_at) {
            let there = self.whole(place, LONG)?;
            let given = there.as_deref().and_then(|there| given(there, old, new));
            // A line end that the file does not have there cannot be a part of a line.
            let given = given.filter(|given| *given == LineRole::Whole || part == old);
            evidence.found_by = FoundBy::Part { of_new: given };
            evidence.cause = why.filter(|why| *why == Cause::CutShort && place == lines);
            evidence.made = evidence.made.and_then(|made| unless_within(made, place));
            if given != Some(LineRole::Part) {
                let text = (place != lines).then(|| self.actual(place)).transpose()?;
                evidence.intended = Some(Intended { lines: place, digest: self.digest(place)?, text });
            }
        }
        if !evidence.found_at.is_empty() {
            if evidence.found_by == FoundBy::Text {
                evidence.found_by = FoundBy::Part { of_new: None };
            }
            return Ok(evidence);
        }
        if let Some(GappedMatch { lines: place, left_out, .. }) = found.gap_at(Some(lines)) {
            self.add_certain_place(&mut evidence, place, FoundBy::Gap { left_out }, (old, new), Some(lines))?;
            return Ok(evidence);
        }
        if found.alike.len() > 1 {
            self.tell_alike(&mut evidence, &found.alike, old, Some(lines))?;
            return Ok(evidence);
        }
        let nearest = self.nearest(old, Some(lines))?;
        if let Some(best) = nearest.first().filter(|_| is_cheap) {
            evidence.cause = if best.lines == lines { why } else { self.cause_at(best, old, cause)? };
        }
        let best = nearest.first().map(|best| best.lines);
        if let Some(near) = nearest.first().filter(|near| near.is_close()) {
            evidence.made = evidence.made.and_then(|made| unless_within(made, near.lines));
        }
        if evidence.made.is_none() && best.is_none_or(|best| !best.overlaps(lines)) {
            evidence.made = self.made_near(lines, best, old, new)?;
        }
        self.tell_nearest(&mut evidence, nearest, old, Some(lines))?;
        self.show_made(&mut evidence, Some(lines))?;
        Ok(evidence)
    }

    /// Looks into a text that stands nowhere.
    pub(super) fn no_match(&self, at: At, old: &str, new: &str) -> Result<Evidence, S::Error> {
        let is_cheap = self.is_cheap(old, new);
        let mut evidence = Evidence::default();
        if !self.thorough {
            evidence.cause = if is_cheap { cause_without_place(old) } else { None };
            return Ok(evidence);
        }
        if self.options.strict {
            evidence.found_at = self.search(old, false, Tier::TrailingWhitespace, None)?;
            evidence.found_by = FoundBy::Part { of_new: None };
            if let Some(place) = evidence.found_at.first() {
                evidence.actual = Some(self.actual(*place)?);
                evidence.cause = Some(Cause::TrailingWhitespace);
                return Ok(evidence);
            }
            evidence.found_by = FoundBy::Text;
        }
        evidence.dependency = self.dependency(at, old, new)?;
        if evidence.dependency.is_some() {
            return Ok(evidence);
        }
        let made = if is_cheap { self.made_anywhere(old, new)? } else { None };
        let found = self.normalized(old, None)?;
        let alike = match found.alike_at(None) {
            Some(place) => self.whole_place(place, old)?.map(|place| (place, FoundBy::Alike)),
            None => None,
        };
        let gap = || found.gap_at(None).map(|gap| (gap.lines, FoundBy::Gap { left_out: gap.left_out }));
        if let Some((place, by)) = alike.or_else(gap) {
            // Elsewhere it stands for another reason.
            evidence.made = made.filter(|made| made.lines.contains(place));
            self.add_certain_place(&mut evidence, place, by, (old, new), None)?;
            return Ok(evidence);
        }
        let nearest = self.nearest(old, None)?;
        evidence.made = made.and_then(|made| unless_like(made, nearest.first(), old, new));
        if let Some(made) = evidence.made {
            let is_shown = |near: &SimilarPlace| !made.is_sure && near.lines.contains(made.lines);
            if !nearest.iter().any(is_shown) {
                evidence.actual = Some(self.actual(made.lines)?);
            }
            if made.is_sure {
                return Ok(evidence);
            }
        }
        if found.alike.len() > 1 {
            self.tell_alike(&mut evidence, &found.alike, old, None)?;
            return Ok(evidence);
        }
        match nearest.first() {
            Some(best) if is_cheap => evidence.cause = self.cause_at(best, old, cause_inside)?,
            None if is_cheap => evidence.cause = cause_without_place(old),
            _ => {}
        }
        self.tell_nearest(&mut evidence, nearest, old, None)?;
        Ok(evidence)
    }

    /// Looks into a range that does not have its digest.
    pub(super) fn range_hash(
        &self,
        lines: LineRange,
        tag: &DigestPrefix,
        new: Option<&str>,
    ) -> Result<Evidence, S::Error> {
        let new = new.filter(|new| self.is_cheap("", new));
        let made = match new {
            Some(new) => self.made_at(lines, "", new)?.filter(|made| made.lines.start() == lines.start()),
            None => None,
        };
        let actual = Some(self.actual(lines)?);
        let is_remembered = |digest: &Digest| tag.matches(digest);
        let found_at = if self.thorough { self.with_digest(lines, is_remembered)? } else { Vec::new() };
        let intended = match only(&found_at) {
            Some(place) => Some(Intended { lines: place, digest: self.digest(place)?, text: None }),
            None => None,
        };
        Ok(Evidence { actual, found_at, intended, made, ..Evidence::default() })
    }

    /// Adds a place that is certain, with its text if that is not the asked range's.
    fn add_certain_place(
        &self,
        evidence: &mut Evidence,
        place: LineRange,
        by: FoundBy,
        (old, new): (&str, &str),
        asked: Option<LineRange>,
    ) -> Result<(), S::Error> {
        let text = self.whole(place, LONG)?;
        let why = text.as_deref().and_then(|text| cause(old, text));
        evidence.cause = match by {
            // What was left out is the cause, whatever else is amiss.
            FoundBy::Gap { .. } => Some(why.filter(|why| *why == Cause::Elided).unwrap_or(Cause::LeftOut)),
            _ => why.filter(|why| why.is_slip() || *why == Cause::Elided),
        };
        let shown = self.actual(place)?;
        let text = match asked {
            Some(asked) if asked == place => {
                evidence.actual = Some(shown);
                None
            }
            Some(_) => Some(shown),
            None => {
                evidence.actual = Some(shown);
                None
            }
        };
        evidence.made = evidence.made.and_then(|made| outside(made, place, asked));
        if evidence.made.is_none() && self.is_cheap(old, new) {
            // What an edit has put around the lines that it kept.
            evidence.made =
                self.made_at(place, old, new)?.filter(|made| made.is_sure && made.lines.contains(place));
        }
        if let Some(asked) = asked.filter(|asked| !place.overlaps(*asked) && evidence.made.is_none()) {
            evidence.made = self.made_near(asked, Some(place), old, new)?;
        }
        self.show_made(evidence, asked)?;
        (evidence.found_at, evidence.found_by) = (vec![place], by);
        evidence.intended = Some(Intended { lines: place, digest: self.digest(place)?, text });
        Ok(())
    }

    /// Returns the place of the new text, if that is closer to a range than the place that is like the old
    /// text: then either may have been meant.
    fn made_near(
        &self,
        asked: LineRange,
        place: Option<LineRange>,
        old: &str,
        new: &str,
    ) -> Result<Option<AlreadyApplied>, S::Error> {
        let made = if self.is_cheap(old, new) { self.made_anywhere(old, new)? } else { None };
        let is_closer = |made: &AlreadyApplied| {
            place.is_none_or(|place| {
                !made.lines.overlaps(place) && made.lines.distance(asked) < place.distance(asked)
            })
        };
        Ok(made.filter(is_closer).map(|made| AlreadyApplied { is_sure: false, ..made }))
    }

    /// Shows the lines where the edit may have been made already, for the caller to judge; together with the
    /// asked lines, if both are close enough.
    fn show_made(&self, evidence: &mut Evidence, asked: Option<LineRange>) -> Result<(), S::Error> {
        if let (Some(AlreadyApplied { lines, is_sure: false }), Some(asked)) = (evidence.made, asked) {
            let all =
                LineRange::inclusive(lines.start().min(asked.start()).get(), lines.end().max(asked.end()));
            let all = all.filter(|all| all.count() <= MAX_LINES).unwrap_or(lines);
            evidence.actual = Some(self.actual(all)?);
        }
        Ok(())
    }

    /// Adds several alike places, none of which is certain: those closest to the asked range, or the first
    /// ones.
    fn tell_alike(
        &self,
        evidence: &mut Evidence,
        places: &[NormalizedMatch],
        old: &str,
        asked: Option<LineRange>,
    ) -> Result<(), S::Error> {
        let count = places.len();
        let mut places: Vec<LineRange> = places.iter().map(|place| place.lines).collect();
        places.sort_by_key(|place| asked.map_or(0, |asked| asked.distance(*place)));
        for place in places.into_iter().take(MAX_PLACES) {
            if evidence.nearest.is_empty() {
                evidence.cause = self.whole(place, LONG)?.and_then(|text| cause(old, &text));
            }
            evidence.nearest.push(self.actual(place)?);
        }
        if count <= MAX_PLACES {
            self.tell_apart(evidence)?;
        }
        evidence.is_tied = true;
        Ok(())
    }

    /// Adds, for each similar place, the line that tells it from the others.
    fn tell_apart(&self, evidence: &mut Evidence) -> Result<(), S::Error> {
        let places: Vec<LineRange> = evidence.nearest.iter().map(|near| near.of).collect();
        evidence.distinguishing = distinguishing_lines(self.file, &places)?;
        Ok(())
    }

    fn tell_nearest(
        &self,
        evidence: &mut Evidence,
        nearest: Vec<SimilarPlace>,
        old: &str,
        asked: Option<LineRange>,
    ) -> Result<(), S::Error> {
        let wanted = if asked.is_some() { TextShape::Lines } else { TextShape::Part };
        // A place that meets the asked range may have been meant rather than the best one.
        let meets = |near: &SimilarPlace| asked.is_some_and(|asked| near.lines.overlaps(asked));
        evidence.is_tied = match nearest.as_slice() {
            [best, next, ..] => best.is_tied_with(next) || !meets(best) && nearest.iter().any(meets),
            _ => false,
        };
        if let Some(best) = nearest.first() {
            // A slip that explains all is certain, however little else the lines have in common.
            let is_explained = evidence.cause.is_some_and(Cause::is_slip);
            evidence.is_vague = !best.is_asked() && best.is_vague() && !is_explained;
        }
        let is_crowded = nearest.len() > MAX_PLACES;
        for near in nearest.into_iter().take(MAX_PLACES) {
            let difference = self.difference(near.lines, old, wanted)?;
            if evidence.nearest.is_empty() {
                evidence.differs_at = difference.map(|at| at.line);
            }
            evidence.nearest.push(self.with_difference(near.lines, difference)?);
        }
        if evidence.is_tied && !is_crowded {
            self.tell_apart(evidence)?;
        }
        Ok(())
    }

    /// Returns all lines of a place that is alike; `None` where these are not certain.
    fn whole_place(&self, place: LineRange, old: &str) -> Result<Option<LineRange>, S::Error> {
        let extent = self.extent(place, old, usize::MAX)?;
        Ok((extent.sure == Sure::Same).then_some(extent.lines))
    }

    fn cause_at(
        &self,
        near: &SimilarPlace,
        old: &str,
        cause: fn(&str, &str) -> Option<Cause>,
    ) -> Result<Option<Cause>, S::Error> {
        let whole = self.whole(near.lines, LONG)?;
        Ok(whole.and_then(|whole| cause(old, &whole)))
    }
}

/// Judges a new text that stands in the file, where the place of the old one is certain. The edit was made if
/// the new text has that place in it, or begins where the client says. It was not made if the new text stands
/// across an end of the place. If it stands elsewhere, either may be.
fn outside(made: AlreadyApplied, place: LineRange, asked: Option<LineRange>) -> Option<AlreadyApplied> {
    if made.lines.contains(place) {
        return Some(made);
    }
    let is_asked = asked.is_some_and(|asked| asked.start() == made.lines.start());
    (!made.lines.overlaps(place)).then_some(AlreadyApplied { is_sure: made.is_sure && is_asked, ..made })
}

/// Judges a new text that stands in the file, where other text is like the old one, and may have been meant
/// by it. Within such a place, a new text that is a part of the old one stands there for that reason alone.
fn unless_like(
    made: AlreadyApplied,
    nearest: Option<&SimilarPlace>,
    old: &str,
    new: &str,
) -> Option<AlreadyApplied> {
    match nearest.filter(|near| near.is_close()) {
        Some(near) if !near.lines.overlaps(made.lines) => Some(AlreadyApplied { is_sure: false, ..made }),
        Some(near) if near.lines != made.lines && near.lines.contains(made.lines) && old.contains(new) => {
            None
        }
        Some(near) => unless_within(made, near.lines),
        None => Some(made),
    }
}

/// Judges a new text that may stand in the file because the edit was made, where the place of the old one is
/// known: within that place, the new text is just the part that the edit would leave.
fn unless_within(made: AlreadyApplied, place: LineRange) -> Option<AlreadyApplied> {
    (made.is_sure || made.lines == place || !place.contains(made.lines)).then_some(made)
}

/// Tells whether the lines at the ends of the old text that may be none of the file are those of the new
/// text, too.
fn share_ends(old: &str, new: &str) -> bool {
    let [old, new] = [old, new].map(|text| text.strip_suffix('\n').unwrap_or(text));
    let first = |text: &'_ str| text.split('\n').next().unwrap_or_default().trim().to_owned();
    let last = |text: &'_ str| text.rsplit('\n').next().unwrap_or_default().trim().to_owned();
    [(first(old), first(new)), (last(old), last(new))]
        .iter()
        .all(|(own, other)| end(own).is_none() || own == other)
}

/// Returns the place if there is exactly one.
fn only(places: &[LineRange]) -> Option<LineRange> {
    match places {
        [only] => Some(*only),
        _ => None,
    }
}

/// Returns what the new text is for: the whole lines `there`, or the part of them that `old` is. That
/// depends, on each side on which `old` was cut, on whether `new` goes on like the lines or like `old`.
/// `None` where that is not clear.
fn given(there: &str, old: &str, new: &str) -> Option<LineRole> {
    let [there, old, new] = [there, old, new].map(|text| text.strip_suffix('\n').unwrap_or(text));
    // Behind nothing but blanks it may be the indentation that is missing.
    let at =
        there.find(old).filter(|at| *at == 0 || !there.get(..*at).unwrap_or_default().trim().is_empty())?;
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let common_end =
        |a: &str, b: &str| a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).count();
    let is_cut = [at > 0, at + old.len() < there.len()];
    let ends = [(common(there, new), common(old, new)), (common_end(there, new), common_end(old, new))];
    let mut sides = is_cut.into_iter().zip(ends).filter(|(is_cut, _)| *is_cut).map(|(_, (whole, part))| {
        match whole.cmp(&part) {
            Ordering::Greater => Some(LineRole::Whole),
            Ordering::Less => Some(LineRole::Part),
            Ordering::Equal => None,
        }
    });
    let first = sides.next()??;
    sides.all(|side| side == Some(first)).then_some(first)
}
