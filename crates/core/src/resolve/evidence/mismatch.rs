//! What is found out about each kind of failure.

use std::cmp::Ordering;

use super::view::{View, Wanted};
use crate::cause::{Cause, cause, cause_inside, cause_without_place};
use crate::certain::{CertainPlaces, Gap};
use crate::digest::DigestPrefix;
use crate::line::LineRange;
use crate::matching::Tier;
use crate::nearest::Near;
use crate::rejection::{At, Certain, Evidence, FoundBy, Given};
use crate::source::Source;

/// Up to how many bytes of text in the file a cause is looked for, and of text that was sent in failures that are not looked into:
/// there may be thousands.
const LONG: usize = 16 * 1024;
/// How many bytes of text in the file a cause is looked for in failures that are not looked into.
const SHORT: usize = 2000;
/// Up to how many bytes of text that was sent a cause is looked for at all: that takes some copies of it, and more for each line.
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
        let difference = self.difference(lines, old, Wanted::Lines)?;
        evidence.actual = Some(self.with_difference(lines, difference)?);
        evidence.differs_at = difference.map(|at| at.line);
        evidence.made = if is_cheap { self.made_at(lines, old, new)? } else { None };
        let mut whole_old = old.to_owned();
        if !whole_old.ends_with('\n') {
            whole_old.push('\n');
        }
        evidence.found_at = self.places(&whole_old, true, Some(lines))?;
        if !evidence.found_at.is_empty() {
            evidence.cause = why.filter(|why| {
                why.is_slip()
                    || matches!(why, Cause::RangeTooLong | Cause::RangeTooShort)
                        && evidence.found_at.iter().any(|place| place.overlaps(lines))
            });
            // Lines that were named, and differ by a slip alone, are rather meant than others that do not differ.
            if why.is_some_and(Cause::is_slip) {
                evidence.certain = Some(Certain { lines, digest: self.digest(lines)?, text: None });
            } else if let Some(place) = only(&evidence.found_at) {
                // What stands there is what was sent, so that it need not be shown.
                evidence.certain = Some(Certain { lines: place, digest: self.digest(place)?, text: None });
            }
            return Ok(evidence);
        }
        evidence.dependency = self.dependency(at, old, new)?;
        if evidence.dependency.is_some() {
            return Ok(evidence);
        }
        let is_alike = why.is_some_and(Cause::is_slip);
        let found = if is_alike { CertainPlaces::default() } else { self.certain(old, Some(lines))? };
        if let Some(place) = Some(lines).filter(|_| is_alike).or_else(|| found.alike_at(Some(lines))) {
            self.tell_certain(&mut evidence, place, FoundBy::Alike, old, Some(lines))?;
            return Ok(evidence);
        }
        let part = old.strip_suffix('\n').unwrap_or(old);
        if !part.is_empty() {
            evidence.found_at = self.places(part, false, Some(lines))?;
        }
        if let Some(place) = only(&evidence.found_at) {
            let there = self.whole(place, LONG)?;
            let given = there.as_deref().and_then(|there| given(there, old, new));
            // A line end that the file does not have there cannot be a part of a line.
            let given = given.filter(|given| *given == Given::Whole || part == old);
            evidence.found_by = FoundBy::Part { of_new: given };
            evidence.cause = why.filter(|why| *why == Cause::CutShort && place == lines);
            if given == Some(Given::Whole) {
                let text = (place != lines).then(|| self.actual(place)).transpose()?;
                evidence.certain = Some(Certain { lines: place, digest: self.digest(place)?, text });
            }
        }
        if !evidence.found_at.is_empty() {
            if evidence.found_by == FoundBy::Text {
                evidence.found_by = FoundBy::Part { of_new: None };
            }
            return Ok(evidence);
        }
        if let Some(Gap { lines: place, left_out, .. }) = found.gap_at(Some(lines)) {
            self.tell_certain(&mut evidence, place, FoundBy::Gap { left_out }, old, Some(lines))?;
            return Ok(evidence);
        }
        let nearest = self.nearest(old, Some(lines))?;
        if let Some(best) = nearest.first().filter(|_| is_cheap) {
            evidence.cause = if best.lines == lines { why } else { self.cause_at(best, old, cause)? };
        }
        self.tell_nearest(&mut evidence, nearest, old, Wanted::Lines)?;
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
        let found = self.certain(old, None)?;
        let alike = found.alike_at(None).map(|place| (place, FoundBy::Alike));
        let gap = || found.gap_at(None).map(|gap| (gap.lines, FoundBy::Gap { left_out: gap.left_out }));
        if let Some((place, by)) = alike.or_else(gap) {
            evidence.made = made.filter(|made| made.lines.overlaps(place));
            self.tell_certain(&mut evidence, place, by, old, None)?;
            return Ok(evidence);
        }
        evidence.made = made;
        if let Some(made) = evidence.made.filter(|made| made.is_sure) {
            evidence.actual = Some(self.actual(made.lines)?);
            return Ok(evidence);
        }
        let nearest = self.nearest(old, None)?;
        match nearest.first() {
            Some(best) if is_cheap => evidence.cause = self.cause_at(best, old, cause_inside)?,
            None if is_cheap => evidence.cause = cause_without_place(old),
            _ => {}
        }
        self.tell_nearest(&mut evidence, nearest, old, Wanted::Part)?;
        if evidence.nearest.is_empty()
            && let Some(made) = evidence.made
        {
            evidence.actual = Some(self.actual(made.lines)?);
        }
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
        let found_at = if self.thorough { self.with_digest(lines, tag)? } else { Vec::new() };
        let certain = match only(&found_at) {
            Some(place) => Some(Certain { lines: place, digest: self.digest(place)?, text: None }),
            None => None,
        };
        Ok(Evidence { actual, found_at, certain, made, ..Evidence::default() })
    }

    /// Tells a place that is certain, with its text where that is not the asked range's.
    fn tell_certain(
        &self,
        evidence: &mut Evidence,
        place: LineRange,
        by: FoundBy,
        old: &str,
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
        (evidence.found_at, evidence.found_by) = (vec![place], by);
        evidence.certain = Some(Certain { lines: place, digest: self.digest(place)?, text });
        Ok(())
    }

    fn tell_nearest(
        &self,
        evidence: &mut Evidence,
        nearest: Vec<Near>,
        old: &str,
        wanted: Wanted,
    ) -> Result<(), S::Error> {
        evidence.is_tied = match nearest.as_slice() {
            [best, next, ..] => best.is_tied_with(next),
            _ => false,
        };
        for near in nearest {
            let difference = self.difference(near.lines, old, wanted)?;
            if evidence.nearest.is_empty() {
                evidence.differs_at = difference.map(|at| at.line);
            }
            evidence.nearest.push(self.with_difference(near.lines, difference)?);
        }
        Ok(())
    }

    fn cause_at(
        &self,
        near: &Near,
        old: &str,
        cause: fn(&str, &str) -> Option<Cause>,
    ) -> Result<Option<Cause>, S::Error> {
        let whole = self.whole(near.lines, LONG)?;
        Ok(whole.and_then(|whole| cause(old, &whole)))
    }
}

/// Returns the place that a range was meant to be: the only one.
fn only(places: &[LineRange]) -> Option<LineRange> {
    match places {
        [only] => Some(*only),
        _ => None,
    }
}

/// Tells whether the new text is for the whole lines `there`, of which `old` is a part: on each side on which `old` was cut, whether
/// `new` goes on like the lines or like `old`. `None` where that is not clear.
fn given(there: &str, old: &str, new: &str) -> Option<Given> {
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
            Ordering::Greater => Some(Given::Whole),
            Ordering::Less => Some(Given::Part),
            Ordering::Equal => None,
        }
    });
    let first = sides.next()??;
    sides.all(|side| side == Some(first)).then_some(first)
}
