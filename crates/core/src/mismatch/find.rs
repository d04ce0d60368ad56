//! Searches for the lines that a text was meant to be.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem::Finder;

use super::fuzzy::similar;
use super::normalize::{Normalized, Reading, Steps, compact, is_file_name, readings, tells_place};
use super::window::{Hit, Intended, LineWindow, VAGUE};
use crate::elision::is_elision;
use crate::line::LineRange;
use crate::matching::trim_blanks;
use crate::rejection::{MatchKind, Normalization};

/// The maximum number of lines of the file that a text may lack between its head and its tail.
const MOST_LEFT_OUT: usize = 60;

/// The maximum number of lines of a text whose head and tail are looked for separately.
const MOST_PARTED: usize = 2_000;

/// The maximum number of lines, or bytes, that one search compares: repetitive texts would take quadratic
/// time.
const MOST_COMPARED: usize = 50_000_000;

/// The number of places of one kind above which all are dropped: none of so many is certain.
const MOST_KEPT: usize = 1_000;

/// Two places may both be meant if their similarities, out of 1000, differ by at most this.
const TIED: u64 = 40;

/// The maximum length in bytes of a text that is looked for.
const LONGEST: usize = 1024 * 1024;

/// One reading of the text that is looked for: one way to understand it, such as with its escapes undone.
struct Needle<'a> {
    reading: Reading<'a>,
    steps: Steps,
}

impl<'a> Needle<'a> {
    fn new(reading: Reading<'a>) -> Self {
        Self { reading, steps: Steps::default() }
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.reading.lines.iter().map(|line| &**line)
    }

    fn at(&self, step: Normalization) -> Option<&Normalized> {
        self.steps.at(step, || self.lines())
    }
}

/// Finds the lines that `old` was meant to be, and prefers the `named` lines. Whole lines come first, then
/// lines with a gap, parts of lines, and similar lines. Of whole lines, and of parts, each step of
/// normalization is tried with all readings before the next step. With `strict`, spaces and tabs at line ends
/// count.
pub(crate) fn find(window: &LineWindow, old: &str, named: Option<LineRange>, strict: bool) -> Intended {
    if old.len() > LONGEST {
        return Intended::Nothing;
    }
    let needles: Vec<Needle<'_>> = readings(old).into_iter().map(Needle::new).collect();
    // A text with `\n` spelled out is one line; only its last reading, which undoes that, has the lines.
    let is_spelled = needles.last().is_some_and(|last| last.reading.step == Some(Normalization::Escapes));
    let search = |is_whole: bool, is_near: bool| {
        let steps = Normalization::OF_LINES.iter().skip(usize::from(!strict));
        let mut tries = steps.flat_map(|step| needles.iter().map(|needle| (needle, *step)));
        tries.find_map(|(needle, step)| {
            if step == Normalization::Escapes && is_spelled && needle.reading.step.is_none() {
                return None;
            }
            let undone = match needle.reading.step.unwrap_or(step) {
                Normalization::TrailingBlanks if !strict => Normalization::Exact,
                other => other,
            };
            let how = if is_whole { MatchKind::Lines(undone) } else { MatchKind::Part(undone) };
            let mut hits = hits(window, needle, step, how);
            // If lines are named, a part of a line that is equal only after normalization counts only there.
            if let Some(named) = named.filter(|_| !is_whole && undone != Normalization::Exact) {
                hits.retain(|hit| hit.lines.overlaps(named));
            }
            let intended = Intended::of(hits, named)?;
            let meets = |one: &Hit| named.is_some_and(|named| one.lines.overlaps(named));
            let is_met = matches!(&intended, Intended::One(one) if meets(one));
            (is_met || !is_near).then_some(intended)
        })
    };
    let gap = || needles.iter().find_map(|needle| Intended::of(gaps(window, needle), named));
    named
        .and_then(|_| search(true, true))
        .or_else(|| search(true, false))
        .or_else(gap)
        .or_else(|| search(false, false))
        .unwrap_or_else(|| alike(window, &needles, named))
}

/// Finds the places where a text is equal at one step; none if there are too many.
fn hits(window: &LineWindow, needle: &Needle<'_>, step: Normalization, how: MatchKind) -> Vec<Hit> {
    let (Some(here), Some(wanted)) = (window.at(step), needle.at(step)) else { return Vec::new() };
    let (is_whole, is_joined) = (matches!(how, MatchKind::Lines(_)), step >= Normalization::Layout);
    // A normalized text of whole lines begins and ends with a line end, which the place excludes.
    let line_end = usize::from(!is_joined && is_whole);
    let inner = wanted.text.strip_prefix('\n').and_then(|text| text.strip_suffix('\n'));
    let text = inner.filter(|_| !is_whole).unwrap_or(&wanted.text);
    // Blank lines are looked for only as whole lines in the first steps. A text too short to tell its place
    // is not looked for inside joined lines.
    let is_blank = text.trim().is_empty() && (!is_whole || step > Normalization::TrailingBlanks);
    if text.is_empty() || is_blank || !is_whole && is_joined && !tells_place([text]) {
        return Vec::new();
    }
    let edges = Edges::new(needle, step);
    let (finder, most) = (Finder::new(text), MOST_COMPARED / text.len());
    let mut places: Vec<Range<usize>> = Vec::new();
    let (mut from, mut count) = (0, 0);
    while let Some(at) = here.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        let (start, end) = (from + at + line_end, from + at + text.len() - line_end);
        (from, count) = (from + at + 1, count + 1);
        if count > most || places.len() > MOST_KEPT {
            // No place is certain if the text repeats so often.
            return Vec::new();
        }
        let first = here.spans.partition_point(|span| span.0 <= start).saturating_sub(1);
        let last = here.spans.partition_point(|span| span.1 < end);
        let is_line = || {
            here.spans.get(first).zip(here.spans.get(last)).is_some_and(|(a, b)| (a.0, b.1) == (start, end))
        };
        if first <= last && (!is_whole || is_line()) && places.last() != Some(&(first..last + 1)) {
            places.push(first..last + 1);
        }
    }
    let hit = |place: Range<usize>| {
        let (lines, is_sure) = edges.around(window, place);
        Hit { lines: window.numbers(&lines), how, is_sure, similarity: 1000, exact: 0 }
    };
    places.into_iter().map(hit).collect()
}

/// The lines at the two ends of a text that a found place does not include yet, from the place outwards:
/// lines that the reading leaves out and, where lines are joined, blank lines.
struct Edges<'a>([Vec<&'a str>; 2]);

impl<'a> Edges<'a> {
    fn new(needle: &'a Needle<'_>, step: Normalization) -> Self {
        let is_blank = |line: &&str| step >= Normalization::Layout && compact(line, step).is_empty();
        let [above, below] = &needle.reading.cut;
        let mut head: Vec<&str> = above.iter().copied().chain(needle.lines().take_while(is_blank)).collect();
        head.reverse();
        let mut tail: Vec<&str> = needle.lines().rev().take_while(is_blank).collect();
        tail.reverse();
        Self([head, tail.into_iter().chain(below.iter().copied()).collect()])
    }

    /// Returns the place extended by those of these lines that stand next to it, and whether its ends are
    /// certain. An end is not certain if the text's line there differs from the file's but resembles it.
    fn around(&self, window: &LineWindow, place: Range<usize>) -> (Range<usize>, bool) {
        let Self([head, tail]) = self;
        let mut is_sure = true;
        let mut reach = |own: &[&str], index: &dyn Fn(usize) -> Option<usize>| {
            let (mut far, mut blanks) = (0, 0);
            for own in own.iter().map(|own| own.trim()) {
                let there =
                    index(far).filter(|index| *index < window.len()).map(|index| window.line(index).trim());
                if there == Some(own) {
                    far += 1;
                    blanks = if own.is_empty() { blanks + 1 } else { 0 };
                    continue;
                }
                // The file lacks this file name, so the blank lines between it and the place are left out,
                // too.
                if is_file_name(own) {
                    far -= std::mem::take(&mut blanks);
                }
                let is_alike = own.chars().next().zip(there).is_some_and(|(first, there)| {
                    there.starts_with(first) || is_file_name(own) && is_file_name(there)
                });
                is_sure &= !is_alike || is_elision(own).is_some();
            }
            far
        };
        let up = reach(head, &|far| place.start.checked_sub(far + 1));
        let down = reach(tail, &|far| place.end.checked_add(far));
        (place.start - up..place.end + down, is_sure)
    }
}

/// Finds the places where a head and a tail of a text stand, with lines between them that the text lacks.
fn gaps(window: &LineWindow, needle: &Needle<'_>) -> Vec<Hit> {
    let layout = Normalization::Layout;
    let (Some(here), Some(wanted)) = (window.at(layout), needle.at(layout)) else { return Vec::new() };
    let mut raw: Vec<&str> = needle.lines().collect();
    let mut own: Vec<&str> = (0..raw.len()).filter_map(|index| wanted.line(index)).collect();
    // Lines that stand for left-out lines, such as `...`. Text between two of them is not looked for.
    let is_mark = |line: &&str| is_elision(line).is_some();
    let marks = raw.iter().position(is_mark).zip(raw.iter().rposition(is_mark));
    if let Some((first, last)) = marks {
        own.drain(first..=last);
        raw.drain(first..=last);
    }
    let (forced, between) = (marks.map(|(first, _)| first), marks.map_or(0, |(first, last)| last - first));
    let count = own.len();
    if !(2..=MOST_PARTED).contains(&count) || forced.is_some_and(|cut| cut == 0 || cut == count) {
        return Vec::new();
    }
    let part = |lines: Range<usize>| own.get(lines).unwrap_or_default().iter().copied();
    // A part without words, such as `}`, must be equal with its indentation.
    let is_exact = |lines: Range<usize>, from: usize| {
        let is_line = |at: usize| {
            raw.get(at).is_some_and(|raw| trim_blanks(raw) == trim_blanks(window.line(from + at)))
        };
        part(lines.clone()).any(|line| !line.is_empty()) && lines.into_iter().all(is_line)
    };
    let mut places: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut compared = 0;
    for start in (0..window.len()).filter(|start| here.line(*start) == own.first().copied()) {
        let head = (0..count).take_while(|at| here.line(start + at) == own.get(*at).copied()).count();
        compared += head;
        let least = start + count + 1;
        for end in least..(least + MOST_LEFT_OUT + between).min(window.len() + 1) {
            let is_tail = |at: &usize| here.line(end - count + at) == own.get(*at).copied();
            let tail = (0..count).rev().take_while(is_tail).count();
            let cuts = count.saturating_sub(tail).max(1)..=head.min(count - 1);
            compared += tail + 1 + cuts.clone().count() * count;
            if compared > MOST_COMPARED || places.len() > MOST_KEPT {
                return Vec::new();
            }
            let is_cut = |cut: &usize| {
                let (head, tail) = (0..*cut, *cut..count);
                match (tells_place(part(head.clone())), tells_place(part(tail.clone()))) {
                    (true, is_telling) => is_telling || is_exact(tail, end - count),
                    (false, is_telling) => is_telling && is_exact(head, start),
                }
            };
            let cut = cuts.rev().find(|cut| forced.is_none_or(|forced| forced == *cut) && is_cut(cut));
            if let Some(cut) = cut {
                places.push((start..end, start + cut..end - (count - cut)));
                break;
            }
        }
    }
    let holds_other = |one: &Range<usize>| {
        places.iter().any(|(other, _)| other != one && one.start <= other.start && other.end <= one.end)
    };
    let gap = |(lines, left_out): &(Range<usize>, Range<usize>)| {
        let how = MatchKind::Gap { left_out: window.numbers(left_out) };
        Hit { lines: window.numbers(lines), how, is_sure: true, similarity: 1000, exact: 0 }
    };
    places.iter().filter(|(lines, _)| !holds_other(lines)).map(gap).collect()
}

/// Finds the lines that are most like the text, in its first reading (as it was sent) or its last one.
fn alike(window: &LineWindow, needles: &[Needle<'_>], named: Option<LineRange>) -> Intended {
    let readings = [needles.first(), needles.last().filter(|last| last.reading.step.is_some())];
    let mut places: Vec<(usize, Hit)> = Vec::new();
    for (index, needle) in readings.into_iter().flatten().enumerate() {
        let edges = Edges::new(needle, Normalization::Exact);
        let lines: Vec<&str> = needle.lines().collect();
        for mut hit in similar(window, &lines, named) {
            if Some(hit.lines) != named {
                let (lines, is_sure) = edges.around(window, window.indices(hit.lines));
                (hit.lines, hit.is_sure) = (window.numbers(&lines), hit.is_sure && is_sure);
            }
            places.push((index, hit));
        }
    }
    let is_named = |hit: &Hit| Some(hit.lines) == named;
    places.sort_by_cached_key(|(index, hit)| {
        let far = named.map_or(0, |named| named.distance(hit.lines));
        (Reverse(hit.similarity), !is_named(hit), *index, Reverse(hit.exact), far, hit.lines)
    });
    let mut best: Vec<Hit> = Vec::new();
    let floor = places.first().map_or(0, |(_, hit)| hit.similarity * 8 / 10);
    for (_, hit) in places.into_iter().filter(|(_, hit)| hit.similarity >= floor) {
        if !best.iter().any(|other| other.lines.overlaps(hit.lines)) {
            best.push(hit);
        }
    }
    let is_met = |hit: &Hit| named.is_some_and(|named| named.overlaps(hit.lines));
    let Some(first) = best.first().cloned() else { return Intended::Nothing };
    let is_other_met = !is_met(&first) && best.iter().any(is_met);
    let is_tied = best.get(1).is_some_and(|next| {
        let is_as_similar = first.similarity - next.similarity <= TIED && first.exact == next.exact;
        is_other_met || !is_named(&first) && !is_named(next) && (is_as_similar || !first.is_close())
    });
    if is_tied {
        Intended::Several(best)
    } else if first.similarity < VAGUE && !is_named(&first) {
        Intended::Vague(first)
    } else {
        Intended::One(first)
    }
}

/// Returns the places that hold a text exactly as it was sent, as whole lines or as a part of lines.
pub(crate) fn places_of(window: &LineWindow, text: &str, is_whole: bool) -> Vec<LineRange> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').map(Cow::Borrowed).collect();
    let needle = Needle::new(Reading { lines, step: None, cut: Default::default() });
    let exact = Normalization::Exact;
    let how = if is_whole { MatchKind::Lines(exact) } else { MatchKind::Part(exact) };
    hits(window, &needle, exact, how).into_iter().map(|hit| hit.lines).collect()
}
