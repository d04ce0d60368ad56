//! Finds all lines of a place. A search that undoes lines at the ends of a text, joins lines, or skips lines
//! without text does not see all of those that stand there as well.

use super::view::{LONG, View};
use crate::cause::{Cause, collapsed, end, is_another_end, is_bare_fence, is_sign_alone};
use crate::line::{LineNumber, LineRange};
use crate::nearest::SimilarPlace;
use crate::source::Source;

/// The most lines next to a place that may have been joined with it.
const MOST_JOINED: u64 = 20;
/// The most bytes of a line that are compared; a longer one is like no line of the text.
const LONGEST_LINE: usize = 2000;

/// The lines of a place.
pub(super) struct MatchExtent {
    pub(super) lines: LineRange,
    /// The certainty about which lines next to the place belong to it.
    pub(super) sure: Sure,
}

/// The certainty that lines next to a place are what lines of the text were meant to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// Each line that belongs to the place is the same as in the text, and no other line may belong to it.
    Same,
    /// A line is only similar to that of the text.
    Like,
    /// A line is only of the same kind, as two fences that differ are: the line of the text may be one too
    /// many, or one that is wrong.
    No,
}

/// The relation of a line at an end of the text to the line that stands there.
enum Neighbour {
    Same,
    /// Not the same, but like it.
    Like,
    /// Merely of the same kind.
    Doubtful,
    Other,
}

impl<S: Source + ?Sized> View<'_, S> {
    /// Returns the place with the lines next to it that the text has at the same end: blank ones, fences,
    /// names, marks, signs of a comment. Returns the place as it is if these could be more than `most`.
    pub(super) fn extent(&self, place: LineRange, old: &str, most: usize) -> Result<MatchExtent, S::Error> {
        let own: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
        let Some(text) = self.whole(place, LONG)? else {
            return Ok(MatchExtent { lines: place, sure: Sure::Same });
        };
        let there: Vec<&str> = text.lines().collect();
        let (head, tail) = undone(&own, &there);
        if head + tail > most {
            return Ok(MatchExtent { lines: place, sure: Sure::Same });
        }
        // With the line of the text at which the place begins, or ends.
        let head: Vec<&str> = own.iter().take(head + 1).rev().copied().collect();
        let tail: Vec<&str> = own.iter().skip(own.len().saturating_sub(tail + 1)).copied().collect();
        let has_fence = |lines: &[&str]| lines.iter().skip(1).any(|line| is_bare_fence(line).is_some());
        let is_pair = has_fence(&head) && has_fence(&tail);
        let up = |far: u64| place.start().index().checked_sub(far + 1);
        let (above, sure_above, is_fenced) = self.reach(&head, is_pair, up)?;
        let (below, sure_below, _) =
            self.reach(&tail, is_pair && !is_fenced, |far| place.end().checked_add(far))?;
        // Lines that are there twice in the text, and in the file as well.
        let is_twice = |own: &[&str], there: &[&str]| match (own, there) {
            ([first, second, ..], [edge, rest @ ..]) => {
                !first.trim().is_empty() && first == second && first == edge && rest.first() != Some(edge)
            }
            _ => false,
        };
        let stands = |line: Option<String>, own: Option<&&str>| {
            line.as_deref().map(str::trim_end) == own.map(|own| own.trim_end())
        };
        let above =
            if is_twice(&own, &there) && stands(self.line_at(up(0))?, own.first()) { 1 } else { above };
        let is_last_twice = is_twice(&reversed(&own), &reversed(&there));
        let below =
            if is_last_twice && stands(self.line_at(Some(place.end()))?, own.last()) { 1 } else { below };
        let start = place.start().index() - above;
        let lines = LineRange::new(LineNumber::from_index(start), place.end() + below - start);
        Ok(MatchExtent { lines, sure: sure_above.max(sure_below) })
    }

    /// Counts the lines next to a place, from the closest on, that match these lines of the text. Returns the
    /// count, the certainty, and whether one of the lines is a fence with words.
    fn reach(
        &self,
        own: &[&str],
        is_pair: bool,
        index: impl Fn(u64) -> Option<u64>,
    ) -> Result<(u64, Sure, bool), S::Error> {
        let (all, mut far, mut sure, mut is_fenced) = (own, 0, Sure::Same, false);
        let is_name = |line: &&str| end(line) == Some(Cause::FileName);
        for (inner, (at, own)) in own.iter().zip(own.iter().enumerate().skip(1)) {
            let Some(there) = self.line_at(index(far))? else { break };
            // Blank lines below a name belong to it.
            let is_of_name = own.trim().is_empty() && all.iter().skip(at).any(is_name);
            match neighbour(own, &there, is_pair) {
                _ if is_of_name => continue,
                // A line that was copied twice.
                Neighbour::Doubtful if own.trim() == inner.trim() => continue,
                Neighbour::Same => {}
                Neighbour::Like => sure = sure.max(Sure::Like),
                Neighbour::Doubtful => sure = Sure::No,
                Neighbour::Other => continue,
            }
            is_fenced |= is_bare_fence(&there) == Some(false);
            far += 1;
        }
        Ok((far, sure, is_fenced))
    }

    /// Returns the place with the lines next to it that the text has, too, but joined with lines of the
    /// place.
    pub(super) fn with_joined(&self, place: LineRange, old: &str) -> Result<LineRange, S::Error> {
        let (mut start, mut end) = (place.start().index(), place.end());
        if old.len() > LONG {
            return Ok(place);
        }
        for fold in [raw as fn(&str) -> String, words] {
            let wanted = fold(old);
            let first = fold(&self.line_at(Some(start))?.unwrap_or_default());
            let mut joined = String::new();
            let own = old.strip_suffix('\n').unwrap_or(old);
            // A line that stands at the end of the place by itself was not joined with others.
            let is_joined = |line: Option<&str>, edge: &str| line.is_some_and(|line| fold(line) != edge);
            let most = if is_joined(own.split('\n').next(), &first) { MOST_JOINED } else { 0 };
            for far in 1..=most {
                let index = start.checked_sub(far);
                let Some(line) = self.line_at(index)?.filter(|_| joined.len() <= wanted.len()) else { break };
                joined.insert_str(0, &fold(&line));
                let rest = wanted.strip_prefix(&joined).filter(|_| !joined.is_empty() && !first.is_empty());
                if rest.is_some_and(|rest| rest.starts_with(&first)) {
                    start -= far;
                    break;
                }
            }
            let last = fold(&self.line_at(end.checked_sub(1))?.unwrap_or_default());
            let mut joined = String::new();
            let mut reached = end;
            let most = if is_joined(own.rsplit('\n').next(), &last) { MOST_JOINED } else { 0 };
            for index in end..end.saturating_add(most) {
                let Some(line) = self.line_at(Some(index))?.filter(|_| joined.len() <= wanted.len()) else {
                    break;
                };
                joined.push_str(&fold(&line));
                let rest = wanted.strip_suffix(&joined).filter(|_| !joined.is_empty() && !last.is_empty());
                if rest.is_some_and(|rest| rest.ends_with(&last)) {
                    reached = index + 1;
                    break;
                }
            }
            end = reached;
        }
        Ok(LineRange::new(LineNumber::from_index(start), end - start))
    }

    /// Gives each of the similar places all of its lines, except the asked one, which keeps the lines that
    /// were asked for. Of two places that then overlap the better one stays.
    pub(super) fn with_extents(
        &self,
        nearest: Vec<SimilarPlace>,
        old: &str,
        asked: Option<LineRange>,
    ) -> Result<Vec<SimilarPlace>, S::Error> {
        let mut all: Vec<SimilarPlace> = Vec::new();
        let count = old.strip_suffix('\n').unwrap_or(old).split('\n').count();
        for mut near in nearest {
            if Some(near.lines) != asked {
                let lines = self.with_joined(near.lines, old)?;
                let missing = count.saturating_sub(usize::try_from(lines.count()).unwrap_or(usize::MAX));
                let extent = self.extent(lines, old, missing)?;
                near.lines = extent.lines;
                if extent.sure == Sure::No && all.is_empty() {
                    all.push(near.clone());
                    near.lines = lines;
                    all.push(near);
                    continue;
                }
            }
            if !all.iter().any(|other| other.lines.overlaps(near.lines)) {
                all.push(near);
            }
        }
        Ok(all)
    }

    /// Returns the text of the line with an index; `None` if there is no such line, or if it is too long to
    /// be compared.
    fn line_at(&self, index: Option<u64>) -> Result<Option<String>, S::Error> {
        match index {
            Some(index) => self.whole(LineRange::new(LineNumber::from_index(index), 1), LONGEST_LINE),
            None => Ok(None),
        }
    }
}

/// Counts, at either end of the text, the lines that may be none of the file's and that a place with these
/// lines lacks.
fn undone(own: &[&str], there: &[&str]) -> (usize, usize) {
    let is_edge = |line: &&&str| end(line).is_some() || is_sign_alone(line);
    let heads = [own, there].map(|lines| lines.iter().take_while(is_edge).count());
    let tails = [own, there].map(|lines| lines.iter().rev().take_while(is_edge).count());
    let more = |[own, there]: [usize; 2]| own.saturating_sub(there);
    if heads.first() != Some(&own.len()) {
        return (more(heads), more(tails));
    }
    // The text has no other lines. Where the lines of the place stand in it tells which are too many.
    let folded = |lines: &[&str]| lines.iter().map(|line| collapsed(line)).collect::<Vec<_>>();
    let (folded_own, folded_there) = (folded(own), folded(there));
    let at = folded_own.windows(folded_there.len().max(1)).position(|lines| lines == folded_there.as_slice());
    at.map_or((0, 0), |at| (at, own.len().saturating_sub(at + there.len())))
}

fn reversed<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().rev().copied().collect()
}

fn neighbour(own: &str, there: &str, is_pair: bool) -> Neighbour {
    let is_same = own.trim() == there.trim();
    let fences = [own, there].map(is_bare_fence);
    match (end(own), fences) {
        _ if is_sign_alone(own) && !is_same && there.trim().starts_with(own.trim()) => Neighbour::Doubtful,
        // A bare fence may as well end another block than the one that was sent in fences.
        (_, [Some(true), Some(_)] | [Some(_), Some(true)]) if is_pair => Neighbour::Other,
        _ if is_same => Neighbour::Same,
        (_, [Some(_), Some(_)]) => kind(own, there),
        _ if is_another_end(own, there) => kind(own, there),
        _ => Neighbour::Other,
    }
}

/// Compares two lines of the same kind: they are similar, as with a typo, or doubtful.
fn kind(own: &str, there: &str) -> Neighbour {
    let words = [own, there].map(|line| line.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<_>>());
    let [a, b] = &words;
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let longest = a.len().max(b.len());
    if longest > 0 && 2 * (head + tail) >= longest { Neighbour::Like } else { Neighbour::Doubtful }
}

/// Returns a text as it is compared where lines are joined.
fn raw(text: &str) -> String {
    collapsed(text).replace('\n', "")
}

/// Returns the letters and digits of a text: signs of comments are not repeated in lines that are joined.
fn words(text: &str) -> String {
    collapsed(text).chars().filter(|c| c.is_alphanumeric()).collect()
}
