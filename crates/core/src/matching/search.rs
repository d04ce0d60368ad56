//! Finds all needles in the text in one pass, in memory that does not grow with the file, and then looks up
//! their offsets in the file.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use memchr::memmem;

use super::needle::{CLOSEST, Keep, Needle, NeedleMatches, Occurrence, Prefilter, Tier, trim_blanks};
use super::text::{LocatedPosition, Positioned, Text, locate};
use crate::encoding::Seam;
use crate::line::LineRange;
use crate::scan::Scanned;
use crate::source::Source;

/// Finds all needles in one pass over a file that is known to decode, and their offsets in a second pass.
/// Returns one result per needle, in their order. The only errors are those of the source.
pub fn search<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    needles: &[Needle<'_>],
    tier: Tier,
) -> Result<Vec<NeedleMatches>, S::Error> {
    let mut patterns: Vec<Pattern<'_>> = needles.iter().map(|needle| Pattern::new(needle, tier)).collect();
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let longest = patterns.iter().map(|pattern| pattern.length() + pattern.look_ahead()).max();
    // The minimum length of text in the window for which a search pays.
    let enough = longest.map_or(0, |longest| longest.saturating_add(longest / 4));
    let offsets = needles.iter().filter_map(|needle| match needle.keep {
        Keep::Closest(to) => Some(to),
        Keep::All(_) => None,
    });
    // The number of occurrences kept so far for the needles with `Keep::All`.
    let mut kept = 0;
    let prefilter = Prefilter::new(patterns.iter().map(|pattern| pattern.finder.needle()));
    let mut found = vec![prefilter.is_none(); patterns.len()];
    let checkpoints = Text::searched(file.scan, tier, offsets).read(file, |text, last| {
        if last || text.window.text.len() as u64 >= enough {
            if let Some(prefilter) = &prefilter {
                found.fill(false);
                prefilter.mark(&text.window.text, &mut found);
            }
            for (pattern, found) in patterns.iter_mut().zip(&found) {
                if *found {
                    pattern.search(text, last, &mut kept);
                } else {
                    pattern.pass(text.window.end());
                }
            }
            let next = patterns.iter().map(|pattern| pattern.next).min().unwrap_or_default();
            text.window.forget(next.saturating_sub(1).min(text.window.end()));
        }
        true
    })?;
    let mut indices: Vec<u64> =
        patterns.iter().flat_map(Pattern::hits).flat_map(|hit| [hit.start, hit.end]).collect();
    indices.sort_unstable();
    indices.dedup();
    let located = if indices.is_empty() { Vec::new() } else { locate(file, tier, &checkpoints, &indices)? };
    let look_up = |index: u64| {
        let at = indices.binary_search(&index).ok().and_then(|at| located.get(at)).copied();
        at.unwrap_or(LocatedPosition { spot: None, near: 0 })
    };
    Ok(patterns.iter().map(|pattern| pattern.finish(look_up)).collect())
}

/// An occurrence, by its indices in the text.
#[derive(Clone, Copy, Debug)]
struct Hit {
    start: u64,
    end: u64,
    at_end: bool,
}

/// Returns the lines that each occurrence touches, in the order of `places`.
pub(crate) fn lines_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    places: &[Occurrence],
) -> Result<Vec<LineRange>, S::Error> {
    let mut cursor = file.cursor();
    let touched = places.iter().map(|place| {
        let (first, _) = cursor.line_at(place.at.start)?;
        let (last, _) = cursor.line_at(place.at.end.saturating_sub(1).max(place.at.start))?;
        Ok(LineRange::new(first, last.get() - first.index()))
    });
    touched.collect()
}

/// Returns the text of a whole file that is known to decode, as the read tool shows it: each line end is one
/// `\n`. The caller must make sure that the text fits into memory. The only errors are those of the source.
pub fn whole_text<S: Source + ?Sized>(file: Scanned<'_, S>) -> Result<String, S::Error> {
    let mut whole = Vec::new();
    Text::searched(file.scan, Tier::Exact, std::iter::empty()).read(file, |text, _| {
        let end = text.window.end();
        whole.extend_from_slice(text.window.slice(whole.len() as u64..end));
        text.window.forget(end);
        true
    })?;
    if file.scan.lines.is_unterminated() {
        // Remove the line end that [`Text`] adds for the end of the file.
        whole.pop();
    }
    Ok(String::from_utf8(whole).unwrap_or_default())
}

/// Returns where `parts` of the [`whole_text`] stand in the file. The parts are in order, disjoint, and not
/// empty. The only errors are those of the source.
pub(crate) fn places_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    parts: impl Iterator<Item = Range<usize>> + Clone,
) -> Result<Vec<Occurrence>, S::Error> {
    let mut indices: Vec<u64> = parts.clone().flat_map(|part| [part.start as u64, part.end as u64]).collect();
    indices.dedup();
    let located = locate(file, Tier::Exact, &[], &indices)?;
    let mut located = indices.into_iter().zip(located).peekable();
    let mut position = |index: usize| {
        while located.next_if(|(before, _)| *before < index as u64).is_some() {}
        located.peek().map_or((None, 0), |(_, position)| (position.spot, position.near))
    };
    let places = parts.map(|part| {
        let ((begin, near), (end, near_end)) = (position(part.start), position(part.end));
        let seams = (begin.and_then(|spot| spot.begin), end.and_then(|spot| spot.end));
        occurrence((seams.0, near), (seams.1, near_end), false)
    });
    Ok(places.collect())
}

/// The state of the search for one needle.
struct Pattern<'a> {
    finder: memmem::Finder<'a>,
    /// The blanks at the end of the needle, which the second tier compares separately. Empty in the first
    /// tier.
    tail: &'a [u8],
    /// The minimum distance between the starts of two occurrences.
    shift: u64,
    /// The needle's period, if it is at most half as long as the needle.
    period: Option<u64>,
    /// True in the second tier if the needle begins with blanks and a line end: the file's blanks there
    /// belong to the match.
    owns_first_blanks: bool,
    ends_line: bool,
    whole_lines: bool,
    keep: Keep,
    /// The first index at which another occurrence may begin.
    next: u64,
    count: u64,
    before: VecDeque<Hit>,
    after: Vec<Hit>,
}

impl<'a> Pattern<'a> {
    fn new(needle: &Needle<'a>, tier: Tier) -> Self {
        let raw = needle.text;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let first = raw.split_once('\n').map(|(first, _)| first).unwrap_or_default();
        let (finder, tail) = match tier {
            Tier::Exact => (memmem::Finder::new(raw.as_bytes()), &[][..]),
            Tier::TrailingWhitespace => {
                let kept = raw.trim_end_matches([' ', '\t']).len();
                let tail = raw.as_bytes().get(kept..).unwrap_or_default();
                (memmem::Finder::new(&without_blanks(raw)).into_owned(), tail)
            }
        };
        let text = finder.needle();
        let (shift, periodic) = shift(text);
        let ends_line = text.ends_with(b"\n") && tail.is_empty();
        Self {
            shift: shift as u64,
            period: periodic.then_some(shift as u64),
            ends_line,
            owns_first_blanks: tier == Tier::TrailingWhitespace
                && !first.is_empty()
                && first.as_bytes().iter().all(blank),
            finder,
            tail,
            whole_lines: needle.whole_lines,
            keep: needle.keep,
            next: 0,
            count: 0,
            before: VecDeque::new(),
            after: Vec::new(),
        }
    }

    fn length(&self) -> u64 {
        self.finder.needle().len() as u64
    }

    /// Returns the number of bytes after a possible occurrence that are needed to decide whether it is one.
    fn look_ahead(&self) -> u64 {
        self.tail.len() as u64
    }

    /// Finds the occurrences that the text in the window is enough to decide. With `last`, no more text will
    /// come.
    fn search(&mut self, text: &Text, last: bool, kept: &mut u64) {
        if self.length() == 0 {
            return;
        }
        let (window, virtual_end) = (&text.window, last && text.has_virtual_end());
        let end = window.end();
        let mut known = None;
        while let Some(start) = known.take().or_else(|| self.find(window)) {
            if !last && start + self.length() + self.look_ahead() > end {
                self.next = start;
                return;
            }
            let accepted = self.accept(window, start, virtual_end);
            if let (Some(hit), Keep::All(_)) = (&accepted, self.keep) {
                self.next = hit.end;
            } else {
                known = self.again(window, start);
            }
            if let Some(hit) = accepted {
                self.take(hit, text, kept);
            }
        }
        self.pass(end);
    }

    /// Moves `next` on to the first start of an occurrence that would end after `end`.
    fn pass(&mut self, end: u64) {
        self.next = self.next.max((end + 1).saturating_sub(self.length()));
    }

    fn find(&self, window: &Positioned) -> Option<u64> {
        let at = self.finder.find(window.slice(self.next..window.end()))?;
        Some(self.next + at as u64)
    }

    /// Returns the start of the occurrence one period after the occurrence at `start`, if there is one.
    /// Otherwise returns `None` and sets `next` to the first index at which another can begin.
    ///
    /// Only the last period must be compared, so repetitive texts cost no more than others. If it differs, no
    /// occurrence begins at or before the start of this occurrence's last period (Fine and Wilf's theorem).
    fn again(&mut self, window: &Positioned, start: u64) -> Option<u64> {
        let end = start + self.length();
        self.next = start + self.shift;
        // Text that has not been read yet cannot be compared.
        let period = self.period.filter(|period| end + period <= window.end())?;
        let needle = self.finder.needle();
        let last = usize::try_from(self.length() - period).ok().and_then(|at| needle.get(at..));
        if last == Some(window.slice(end..end + period)) {
            return Some(start + period);
        }
        self.next = end - period + 1;
        None
    }

    fn accept(&self, window: &Positioned, start: u64, virtual_end: bool) -> Option<Hit> {
        let mut text_end = start + self.length();
        if self.whole_lines && start > 0 && window.slice(start - 1..start) != b"\n" {
            return None;
        }
        let at_end = virtual_end && text_end == window.end();
        // The end of the file matches a line end only at the end of the needle, and only after other text of
        // it.
        if at_end && (self.length() == 1 || !self.ends_line) {
            return None;
        }
        let next = window.slice(text_end..text_end + 1);
        if !next.is_empty() && next != b"\n" {
            if window.slice(text_end..text_end + self.tail.len() as u64) != self.tail {
                return None;
            }
            text_end += self.tail.len() as u64;
        }
        Some(Hit { start, end: text_end, at_end })
    }

    /// Returns an occurrence with its place in the file, given the places of its two ends.
    fn occurrence(&self, hit: Hit, first: LocatedPosition, last: LocatedPosition) -> Occurrence {
        let begin = match first.spot.and_then(|spot| spot.before_blanks).filter(|_| self.owns_first_blanks) {
            Some((begin, _)) => begin,
            None => first.spot.and_then(|spot| spot.begin),
        };
        // Blanks after a line end belong to the next line.
        let end = match last.spot.and_then(|spot| spot.before_blanks).filter(|_| self.ends_line) {
            Some((_, end)) => end,
            None => last.spot.and_then(|spot| spot.end),
        };
        occurrence((begin, first.near), (end, last.near), hit.at_end)
    }

    fn take(&mut self, hit: Hit, text: &Text, kept: &mut u64) {
        self.count += 1;
        match self.keep {
            Keep::All(most) if *kept < most => {
                *kept += 1;
                self.after.push(hit);
            }
            Keep::Closest(to) if text.index_of(to).is_none_or(|index| hit.start < index) => {
                if self.before.len() == CLOSEST {
                    self.before.pop_front();
                }
                self.before.push_back(hit);
            }
            // One more than `CLOSEST` is kept: the first may turn out far away, if its blanks begin far
            // before `to`.
            Keep::Closest(_) if self.after.len() <= CLOSEST => self.after.push(hit),
            _ => {}
        }
    }

    fn hits(&self) -> impl Iterator<Item = Hit> {
        self.before.iter().chain(&self.after).copied()
    }

    /// Returns the result for this needle; `locate` finds the place in the file of an index in the text.
    fn finish(&self, locate: impl Fn(u64) -> LocatedPosition) -> NeedleMatches {
        let place = |hit: Hit| self.occurrence(hit, locate(hit.start), locate(hit.end));
        let mut places: Vec<Occurrence> = self.hits().map(place).collect();
        if let Keep::Closest(to) = self.keep {
            places.sort_by_key(|place| place.at.start.abs_diff(to));
            places.truncate(CLOSEST);
            places.sort_by_key(|place| place.at.start);
        }
        NeedleMatches { count: self.count, places }
    }
}

/// Returns the occurrence between two seams. Where the file cannot be cut, there is no seam, and the offset
/// near it is used.
fn occurrence(
    (begin, near): (Option<Seam>, u64),
    (end, near_end): (Option<Seam>, u64),
    at_end: bool,
) -> Occurrence {
    let editable = begin.is_some() && end.is_some();
    let begin = begin.unwrap_or_else(|| Seam::ascii(near));
    let end = end.unwrap_or_else(|| Seam::ascii(near_end.max(begin.offset)));
    Occurrence { at: begin.offset..end.offset, seams: (begin, end), at_end, editable }
}

/// Returns a text without the blanks at its lines' ends.
fn without_blanks(text: &str) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, &b""[..]), |line| (line, b"\n"));
        kept.extend_from_slice(trim_blanks(line).as_bytes());
        kept.extend_from_slice(end);
    }
    kept
}

/// Returns the minimum distance of two occurrences of `needle`, and whether this is the needle's period and
/// at most half its length. If not, the distance is the period or less, but more than half the needle's
/// length (Crochemore and Perrin, "Two-way string-matching", 1991). Allocates nothing.
fn shift(needle: &[u8]) -> (usize, bool) {
    let (left, left_period) = maximal_suffix(needle, false);
    let (right, right_period) = maximal_suffix(needle, true);
    let (cut, period) = if left > right { (left, left_period) } else { (right, right_period) };
    let head = needle.get(..cut).unwrap_or_default();
    if needle.get(period..period + cut) == Some(head) {
        let period = period.max(1);
        return (period, period * 2 <= needle.len());
    }
    (cut.max(needle.len() - cut) + 1, false)
}

/// Returns the start of the suffix of `needle` that is the greatest in lexical order (`reversed`: of bytes in
/// descending order), and the period of this suffix.
fn maximal_suffix(needle: &[u8], reversed: bool) -> (usize, usize) {
    let (mut left, mut right, mut offset, mut period) = (0, 1, 0, 1);
    while let (Some(a), Some(b)) = (needle.get(right + offset), needle.get(left + offset)) {
        match if reversed { b.cmp(a) } else { a.cmp(b) } {
            Ordering::Less => {
                right += offset + 1;
                offset = 0;
                period = right - left;
            }
            Ordering::Equal if offset + 1 == period => {
                right += offset + 1;
                offset = 0;
            }
            Ordering::Equal => offset += 1,
            Ordering::Greater => {
                left = right;
                right += 1;
                offset = 0;
                period = 1;
            }
        }
    }
    (left, period)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;
    use crate::scan::{Scan, Scanner};
    use crate::source::CHUNK;

    fn scan(bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes);
        scanner.finish()
    }

    /// A source that gives a few bytes at a time, as if the file were large.
    struct Slow<'a>(&'a [u8]);

    impl Source for Slow<'_> {
        type Error = std::convert::Infallible;

        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
            let some = buffer.len().min(3);
            self.0.read_at(offset, &mut buffer[..some])
        }
    }

    #[test]
    fn for_no_text_nothing_is_read() {
        /// A file that cannot be read.
        struct Lost;
        impl Source for Lost {
            type Error = ();
            fn size(&self) -> u64 {
                4
            }
            fn read_at(&self, _: u64, _: &mut [u8]) -> Result<usize, ()> {
                Err(())
            }
        }
        let found =
            |needles: &[Needle<'_>]| search(Scanned::new(&Lost, &scan(b"text")), needles, Tier::Exact);
        assert_eq!(found(&[]), Ok(Vec::new()));
        assert_eq!(found(&[Needle { text: "t", whole_lines: false, keep: Keep::All(1) }]), Err(()));
    }

    /// Tries files so long that only a part of each is read again. Line ends, and blanks before them, lie
    /// across the ends of chunks.
    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn places_late_in_a_long_file_are_those_of_the_bytes() {
        for shift in 0..9 {
            let mut file = "x".repeat(shift);
            let mut wanted = Vec::new();
            for line in 0..90_000 {
                if line % 25_000 == 17_000 {
                    wanted.push(file.len() as u64..file.len() as u64 + "here\r\nit".len() as u64);
                    file.push_str("here\r\nit");
                }
                file.push_str("abcde  \r\n");
            }
            let scan = scan(file.as_bytes());
            for tier in [Tier::Exact, Tier::TrailingWhitespace] {
                let needle = Needle { text: "here\nit", whole_lines: false, keep: Keep::All(10) };
                let found = search(Scanned::new(file.as_bytes(), &scan), &[needle], tier).unwrap();
                let places: Vec<_> = found[0].places.iter().map(|place| place.at.clone()).collect();
                assert_eq!(places, wanted);
                let late = Needle { keep: Keep::Closest(file.len() as u64), ..needle };
                let late = search(Scanned::new(file.as_bytes(), &scan), &[late], tier).unwrap();
                assert!(late[0].places.iter().all(|place| wanted.contains(&place.at) && place.editable));
            }
        }
    }

    /// Lists the bytes where each text stands, in both tiers. A text that ends in a line end is also looked
    /// for as whole lines.
    fn check(rows: &[(&str, &str)]) -> String {
        let tell = |&(file, text): &(&str, &str)| {
            let places = |tier, whole_lines, keep| {
                let needle = Needle { text, whole_lines, keep };
                let found =
                    search(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), &[needle], tier).unwrap();
                let end = |at_end| if at_end { " at the end" } else { "" };
                let places =
                    found[0].places.iter().map(|place| format!("{:?}{}", place.at, end(place.at_end)));
                let places = places.collect::<Vec<_>>().join(" ");
                if places.is_empty() { "none".to_owned() } else { places }
            };
            let exactly = places(Tier::Exact, false, Keep::Closest(0));
            let loosely = places(Tier::TrailingWhitespace, false, Keep::Closest(0));
            let apart = places(Tier::Exact, false, Keep::All(9));
            let ends = text.ends_with('\n');
            let lines = if ends { places(Tier::Exact, true, Keep::Closest(0)) } else { "-".to_owned() };
            format!("{file:?} {text:?}: {exactly} | loosely {loosely} | apart {apart} | as lines {lines}\n")
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn where_a_text_stands() {
        insta::assert_snapshot!(check(&[
            ("a\nba\n", "a"),
            ("a\nba\n", "a\n"),
            ("aaaa", "aa"),
            ("a\r\nb", "a\nb"),
            ("a\r\nb", "b\n"),
            ("a\r\nb\r\n", "\n"),
            ("a  \nb\t", "a\nb\n"),
            ("a  \nb\t", "a"),
            ("a b", "a\n"),
            ("\u{feff}é\n", "é"),
        ]), @r#"
        "a\nba\n" "a": 0..1 3..4 | loosely 0..1 3..4 | apart 0..1 3..4 | as lines -
        "a\nba\n" "a\n": 0..2 3..5 | loosely 0..2 3..5 | apart 0..2 3..5 | as lines 0..2
        "aaaa" "aa": 0..2 1..3 2..4 | loosely 0..2 1..3 2..4 | apart 0..2 2..4 | as lines -
        "a\r\nb" "a\nb": 0..4 | loosely 0..4 | apart 0..4 | as lines -
        "a\r\nb" "b\n": 3..4 at the end | loosely 3..4 at the end | apart 3..4 at the end | as lines 3..4 at the end
        "a\r\nb\r\n" "\n": 1..3 4..6 | loosely 1..3 4..6 | apart 1..3 4..6 | as lines none
        "a  \nb\t" "a\nb\n": none | loosely 0..6 at the end | apart none | as lines none
        "a  \nb\t" "a": 0..1 | loosely 0..3 | apart 0..1 | as lines -
        "a b" "a\n": none | loosely none | apart none | as lines none
        "\u{feff}é\n" "é": 3..5 | loosely 3..5 | apart 3..5 | as lines -
        "#);
    }

    #[test]
    fn of_all_texts_together_no_more_places_are_kept_than_are_wanted() {
        let file = "a b a b a b a b";
        for (most, kept) in [(0, 0), (1, 1), (3, 3), (8, 8), (9, 8)] {
            let needle = |text| Needle { text, whole_lines: false, keep: Keep::All(most) };
            let scan = scan(file.as_bytes());
            let found =
                search(Scanned::new(file.as_bytes(), &scan), &[needle("a"), needle("b")], Tier::Exact)
                    .unwrap();
            assert!(found.iter().all(|matches| matches.count == 4));
            assert_eq!(found.iter().map(|matches| matches.places.len()).sum::<usize>(), kept, "{most}");
        }
    }

    #[test]
    fn each_text_has_the_places_that_are_closest_to_its_own_offset() {
        let file = "ab".repeat(50);
        let needle = |text, to| Needle { text, whole_lines: false, keep: Keep::Closest(to) };
        let needles = [needle("a", 20), needle("b", 81), needle("a", 60)];
        let scan = scan(file.as_bytes());
        let found = search(Scanned::new(&Slow(file.as_bytes()), &scan), &needles, Tier::Exact).unwrap();
        let starts = found.iter().map(|matches| matches.places.iter().map(|place| place.at.start));
        let starts: Vec<Vec<u64>> = starts.map(Iterator::collect).collect();
        let around = |first: u64| (first..first + 20).step_by(2).collect::<Vec<_>>();
        assert_eq!(starts, [around(10), around(71), around(50)]);
    }

    /// Big5 has a sequence of two bytes that stands for U+00CA and U+0304: between them no file can be cut.
    #[test]
    fn a_place_inside_a_sequence_of_bytes_is_told_by_an_offset_near_it() {
        let encoding = crate::encoding::Label::parse("big5").unwrap().encoding;
        let bytes = [&b"twelve bytes"[..], b"\x88\x62", b"and more"].concat();
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(&bytes);
        let scan = scanner.finish();
        let rows = [
            ("\u{ca}\u{304}", 12..14, true),
            ("s\u{ca}\u{304}a", 11..15, true),
            ("\u{304}", 12..14, false),
            ("\u{304}and", 12..17, false),
            ("s\u{ca}", 11..12, false),
        ];
        for (text, at, editable) in rows {
            let needle = Needle { text, whole_lines: false, keep: Keep::Closest(0) };
            for found in [
                search(Scanned::new(bytes.as_slice(), &scan), &[needle], Tier::Exact).unwrap(),
                search(Scanned::new(&Slow(&bytes), &scan), &[needle], Tier::Exact).unwrap(),
            ] {
                let places = found[0].places.iter().map(|place| (place.at.clone(), place.editable));
                assert_eq!(places.collect::<Vec<_>>(), [(at.clone(), editable)], "{text:?}");
            }
        }
    }

    /// A source that counts the bytes that are read.
    struct Counted<'a>(&'a [u8], Cell<usize>);

    impl Source for Counted<'_> {
        type Error = std::convert::Infallible;

        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
            let got = self.0.read_at(offset, buffer)?;
            self.1.set(self.1.get() + got);
            Ok(got)
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn a_place_late_in_a_long_file_is_looked_up_without_reading_all_of_it_again() {
        let file = format!("{}here\r\n", format!("{}\r\n", "x".repeat(998)).repeat(1_500));
        let scan = scan(file.as_bytes());
        let source = Counted(file.as_bytes(), Cell::new(0));
        let needle = Needle { text: "here", whole_lines: false, keep: Keep::Closest(0) };
        let found = search(Scanned::new(&source, &scan), &[needle], Tier::Exact).unwrap();
        assert_eq!(found[0].places[0].at, 1_500_000..1_500_004);
        assert!(source.1.get() <= file.len() + 2 * CHUNK, "{}", source.1.get());
    }

    #[test]
    fn a_place_that_begins_with_far_blanks_keeps_no_closer_one_away() {
        let file = format!("{}\n{}", " ".repeat(60), "a \n".repeat(12));
        let needle = |keep| Needle { text: " \na", whole_lines: false, keep };
        let scan = scan(file.as_bytes());
        let find = |keep| {
            search(Scanned::new(file.as_bytes(), &scan), &[needle(keep)], Tier::TrailingWhitespace).unwrap()
        };
        let all = find(Keep::All(20)).remove(0).places;
        assert_eq!((all.len(), all[0].at.start), (12, 0));
        // The first one begins 59 bytes before, the eleventh 33 bytes after it.
        assert_eq!(find(Keep::Closest(59)).remove(0).places, all[1..11]);
    }

    /// Blanks that may stand before a line end are waited for, but no more than a megabyte of them.
    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn blanks_that_end_a_text_are_compared_in_a_long_run_of_blanks() {
        let blanks = 1024 * 1024 + 10;
        for before in CHUNK - 4..CHUNK {
            let file = format!("{}a{}b", "x".repeat(before), " ".repeat(blanks));
            let scan = scan(file.as_bytes());
            let needle = Needle { text: "a   ", whole_lines: false, keep: Keep::Closest(0) };
            let found =
                search(Scanned::new(file.as_bytes(), &scan), &[needle], Tier::TrailingWhitespace).unwrap();
            assert_eq!(found[0].places.len(), 1, "{before}");
            assert_eq!(found[0].places[0].at, before as u64..before as u64 + 4);
        }
    }

    /// Words of three letters, all that are short.
    fn words() -> impl Iterator<Item = Vec<u8>> {
        let of_length = |length| (0..3_u32.pow(length)).map(move |number| (length, number));
        let letter = |number: u32, at| [b'a', b'b', b'c'][(number / 3_u32.pow(at) % 3) as usize];
        let longest = if cfg!(miri) { 4 } else { 8 };
        let words = (1..=longest).flat_map(of_length);
        words.map(move |(length, number)| (0..length).map(|at| letter(number, at)).collect())
    }

    /// Returns the least distance at which a word repeats itself.
    fn period(word: &[u8]) -> usize {
        (1..=word.len()).find(|period| word[*period..] == word[..word.len() - period]).unwrap()
    }

    #[test]
    fn occurrences_of_a_word_are_at_least_its_shift_apart() {
        for word in words() {
            let (period, (shift, periodic)) = (period(&word), shift(&word));
            let told = String::from_utf8_lossy(&word);
            assert_eq!(periodic, period * 2 <= word.len(), "{told}");
            if periodic {
                assert_eq!(shift, period, "{told}");
            } else {
                assert!(shift <= period && shift * 2 > word.len(), "{told}: {shift}");
            }
        }
    }

    #[test]
    fn the_maximal_suffix_is_that_which_comes_last() {
        for word in words() {
            for reversed in [false, true] {
                let suffix = |start: usize| {
                    word[start..].iter().map(|byte| if reversed { !byte } else { *byte }).collect::<Vec<u8>>()
                };
                let last = (0..word.len()).max_by_key(|start| suffix(*start)).unwrap();
                let told = String::from_utf8_lossy(&word);
                assert_eq!(maximal_suffix(&word, reversed), (last, period(&word[last..])), "{told}");
            }
        }
    }

    /// Counts where `needle` stands by the definition of the second tier: in a text without blanks before its
    /// line ends.
    fn count_loosely(file: &str, needle: &str) -> u64 {
        let mut file = file.replace("\r\n", "\n");
        if !file.contains('\n') {
            file = file.replace('\r', "\n");
        }
        let lines = |text: &str| text.split('\n').map(trim_blanks).collect::<Vec<_>>().join("\n");
        let (text, wanted) = (lines(&file), lines(needle));
        let tail = &needle[needle.trim_end_matches([' ', '\t']).len()..];
        // A file whose last line is not ended has a line end there, for texts that end with one.
        let ended = if file.ends_with('\n') || file.is_empty() { text.clone() } else { format!("{text}\n") };
        let is_one = |start: &usize| {
            let Some(rest) = ended[*start..].strip_prefix(&wanted) else { return false };
            if ended.len() - rest.len() > text.len() {
                return wanted.len() > 1 && tail.is_empty();
            }
            rest.is_empty() || rest.starts_with('\n') || rest.starts_with(tail)
        };
        if wanted.is_empty() { 0 } else { (0..ended.len()).filter(is_one).count() as u64 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 500 }))]

        #[test]
        fn overlapping_occurrences_are_all_counted(file in "[ab]{0,60}", needle in "[ab]{1,9}") {
            let starts: Vec<u64> = (0..file.len()).filter(|at| file[*at..].starts_with(&needle)).map(|at| at as u64).collect();
            let wanted = Needle { text: &needle, whole_lines: false, keep: Keep::Closest(0) };
            for found in [
                search(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), &[wanted], Tier::Exact).unwrap(),
                search(Scanned::new(&Slow(file.as_bytes()), &scan(file.as_bytes())), &[wanted], Tier::Exact).unwrap(),
            ] {
                prop_assert_eq!(found[0].count, starts.len() as u64);
                let places: Vec<u64> = found[0].places.iter().map(|place| place.at.start).collect();
                prop_assert_eq!(&places, &starts[..places.len()]);
            }
        }

        /// Compares with the definition: each character with its bytes, `\r\n` as one that is `\n`.
        #[test]
        fn places_are_those_of_the_bytes(
            lines in prop::collection::vec("[ab\u{3042}\u{e9}]{0,3}", 0..30), needle in "[ab\u{3042}\u{e9}]{0,2}\n?[ab\u{3042}]?",
            which in 0..5usize, crlf: bool, to in 0..200u64,
        ) {
            prop_assume!(!needle.is_empty());
            let label = ["utf-8", "utf-16-le", "utf-32-be", "utf-16-be", "gb18030"][which];
            let encoding = crate::encoding::Label::parse(label).unwrap().encoding;
            let mut bytes = Vec::new();
            let (mut text, mut places) = (Vec::new(), vec![0]);
            for character in lines.join("\n").chars().chain(['\n']) {
                let raw = if character == '\n' && crlf { "\r\n".to_owned() } else { character.to_string() };
                bytes.extend(encoding.encode(&raw).unwrap());
                text.push(character);
                places.push(bytes.len() as u64);
            }
            let wanted: Vec<char> = needle.chars().collect();
            let all: Vec<Range<u64>> = (0..text.len())
                .filter(|at| text[*at..].starts_with(&wanted))
                .map(|at| places[at]..places[at + wanted.len()])
                .collect();
            let mut closest = all.clone();
            closest.sort_by_key(|place| place.start.abs_diff(to));
            let mut scanner = Scanner::new(Some(encoding));
            scanner.feed(&bytes);
            let scan = scanner.finish();
            let wanted = Needle { text: &needle, whole_lines: false, keep: Keep::Closest(to) };
            for found in [
                search(Scanned::new(bytes.as_slice(), &scan), &[wanted], Tier::Exact).unwrap(),
                search(Scanned::new(&Slow(&bytes), &scan), &[wanted], Tier::Exact).unwrap(),
            ] {
                prop_assert_eq!(found[0].count, all.len() as u64);
                let told: Vec<Range<u64>> = found[0].places.iter().map(|place| place.at.clone()).collect();
                prop_assert!(told.is_sorted_by_key(|place| place.start) && told.iter().all(|place| all.contains(place)), "{:?}", told);
                // Of two that are equally close either will do.
                let distances = |places: &[Range<u64>]| {
                    let mut distances: Vec<u64> = places.iter().map(|place| place.start.abs_diff(to)).collect();
                    distances.sort_unstable();
                    distances
                };
                prop_assert_eq!(distances(&told), distances(&closest[..closest.len().min(CLOSEST)]));
            }
        }

        /// Compares with the definition: blanks before line ends do not matter, all others do.
        #[test]
        fn all_are_counted_that_differ_in_blanks_before_line_ends_alone(
            file in "([ab]{0,2}[ \t]{0,3}(\r\n|\n|\r)?){0,9}", needle in "[ab \n]{0,2}[ab]?[ \t]{0,2}\n?[a ]{0,2}",
        ) {
            let wanted = Needle { text: &needle, whole_lines: false, keep: Keep::Closest(0) };
            let count = count_loosely(&file, &needle);
            let scan = scan(file.as_bytes());
            for found in [
                search(Scanned::new(file.as_bytes(), &scan), &[wanted], Tier::TrailingWhitespace).unwrap(),
                search(Scanned::new(&Slow(file.as_bytes()), &scan), &[wanted], Tier::TrailingWhitespace).unwrap(),
            ] {
                prop_assert_eq!(found[0].count, count);
            }
        }

        /// Compares the places that are kept with all of them, where blanks make them differ in length.
        #[test]
        fn the_closest_places_are_kept(
            lines in prop::collection::vec(("a?", prop_oneof![20 => 0..2_usize, 1 => 20..80_usize]), 12..60),
            which in 0..4_usize, to in any::<prop::sample::Index>(), slowly: bool,
        ) {
            let line = |(text, blanks): &(String, usize)| format!("{text}{}\n", " ".repeat(*blanks));
            let file: String = lines.iter().map(line).collect::<Vec<_>>().concat();
            let to = to.index(file.len()) as u64;
            let needle = |keep| Needle { text: [" \na", "\n", "a\n", "a"][which], whole_lines: false, keep };
            let scan = scan(file.as_bytes());
            let find = |keep| if slowly {
                search(Scanned::new(&Slow(file.as_bytes()), &scan), &[needle(keep)], Tier::TrailingWhitespace).unwrap()
            } else {
                search(Scanned::new(file.as_bytes(), &scan), &[needle(keep)], Tier::TrailingWhitespace).unwrap()
            };
            let distances = |matches: &[NeedleMatches]| {
                let mut distances: Vec<u64> =
                    matches[0].places.iter().map(|place| place.at.start.abs_diff(to)).collect();
                distances.sort_unstable();
                distances.truncate(CLOSEST);
                distances
            };
            prop_assert_eq!(distances(&find(Keep::Closest(to))), distances(&find(Keep::All(u64::MAX))));
        }

        /// Compares many needles at once with each by itself; some begin alike, and some are one in another.
        #[test]
        fn many_needles_are_found_as_each_by_itself(
            file in "[ab \t\r\n]{0,200}", needles in prop::collection::vec("[ab \t\n]{0,5}|a{30}[ab]{0,9}", 8..20),
            closest: bool, trailing: bool, slowly: bool,
        ) {
            let tier = if trailing { Tier::TrailingWhitespace } else { Tier::Exact };
            let file = format!("{file}{}", "a".repeat(35));
            let keep = if closest { Keep::Closest(7) } else { Keep::All(u64::MAX) };
            let wanted: Vec<Needle<'_>> = needles.iter().map(|text| Needle { text, whole_lines: false, keep }).collect();
            let scan = scan(file.as_bytes());
            let find = |needles: &[Needle<'_>]| if slowly {
                search(Scanned::new(&Slow(file.as_bytes()), &scan), needles, tier).unwrap()
            } else {
                search(Scanned::new(file.as_bytes(), &scan), needles, tier).unwrap()
            };
            let each: Vec<NeedleMatches> = wanted.iter().flat_map(|needle| find(&[*needle])).collect();
            prop_assert_eq!(find(&wanted), each);
        }

        #[test]
        fn chunks_make_no_difference(file in "([ab \t\r\n]|\r\n){0,40}", needle in "[ab \t\n]{1,6}", whole_lines: bool) {
            let text = if whole_lines { format!("{}\n", needle.trim_end_matches('\n')) } else { needle };
            for tier in [Tier::Exact, Tier::TrailingWhitespace] {
                for keep in [Keep::Closest(7), Keep::All(1000)] {
                    let wanted = Needle { text: &text, whole_lines, keep };
                    let at_once = search(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), &[wanted], tier).unwrap();
                    let slowly = search(Scanned::new(&Slow(file.as_bytes()), &scan(file.as_bytes())), &[wanted], tier).unwrap();
                    prop_assert_eq!(at_once, slowly);
                }
            }
        }
    }
}
