//! Finds out whether an edit that failed has already been made.

use std::collections::HashSet;

use super::view::View;
use crate::line::LineRange;
use crate::matching::trim_blanks;
use crate::mismatch::{Hit, Intended, compact, is_wrapper, places_of, readings, tells_place};
use crate::rejection::{MatchKind, Normalization};

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
