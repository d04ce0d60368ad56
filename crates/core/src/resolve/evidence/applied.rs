//! Finds out whether an edit was made before.

use std::collections::HashSet;

use super::view::View;
use crate::line::LineRange;
use crate::matching::trim_blanks;
use crate::mismatch::{Hit, Intended, compact, is_wrapper, places_of, readings, tells_place};
use crate::rejection::{MatchKind, Normalization};

/// A text of fewer characters stands somewhere by chance.
const LEAST_CHARS: usize = 8;
/// The most bytes of the two texts.
const LONGEST: usize = 1024 * 1024;
/// The most lines around the new text that are searched.
const MOST_AROUND: u64 = 1_000;
/// The most old lines whose parts are searched for.
const MOST_PARTS: usize = 200;

impl<S: ?Sized> View<'_, S> {
    /// Returns where the new text stands already, if that may be because the edit was made before, and
    /// whether that is sure. It is if the new text has a line that the old one lacks, if no line that it
    /// takes away is left, and if the text is where the old one was meant to be.
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
        // In the named lines, or at the place of the old text, whole lines are the new text.
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
        // What an edit has put around the lines that it kept.
        let around = certain.and_then(|hit| Some((hit.lines, at(hit.lines).and_then(judged)?)));
        if let Some((place, (there, true))) = around
            && there.contains(place)
        {
            return Some((there, true));
        }
        // It may as well be the text that is closer to the named lines than what is like the old one.
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

    /// Judges a place where the new text stands: a new text that is a part of the old one stands wherever
    /// that does, so that it tells nothing while a line that it takes away is there.
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
        // Also a line that was cut off, or joined with others.
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

/// Judges a new text by the place that the old one may have: within that, it is just the part that the edit
/// would leave. Returns whether it is sure that the edit was made; `None` if it was not.
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
