//! Where a text stands in a file: the two tiers of the contract, streamed, in memory that does not grow with the file.
//!
//! Text is compared as text: bytes are decoded, every line end counts as `\n`. The second tier also ignores spaces and
//! tabs before line ends. Nothing else is ever ignored; similarity belongs to [`crate::nearest`], for errors.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::memmem;

use crate::encoding::{Decoded, Decoder, Encoding, Seam};
use crate::line::LineRange;
use crate::line_ending::Convention;
use crate::scan::Scan;
use crate::source::{Source, for_each_chunk};

/// How well a text matched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// Character by character, line ends aside.
    Exact,
    /// Alike but for spaces and tabs at line ends.
    TrailingWhitespace,
}

/// Which occurrences are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All, left to right without overlap; no more than this many of all needles together (they are counted on).
    All(u64),
    /// Overlapping ones too; all are counted, the [`CLOSEST`] closest to this offset are kept.
    Closest(u64),
}

/// How many places an error names.
pub const CLOSEST: usize = 10;

/// A text to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needle<'a> {
    /// The text, with `\n` for line ends; not empty.
    pub text: &'a str,
    /// Whether it must begin and end with a line; the text then ends in `\n`.
    pub whole_lines: bool,
    /// Which occurrences are wanted.
    pub keep: Keep,
}

/// A place where the text stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Its bytes.
    pub at: Range<u64>,
    /// Between which places of the file new text is to be fitted in.
    pub seams: (Seam, Seam),
    /// Whether the line end that ends the text matched the end of a file without a final newline.
    pub at_end: bool,
    /// Whether bytes may be cut here: false inside a sequence that stands for two characters. `at` is then only near.
    pub editable: bool,
}

/// All that was found of one needle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// How many occurrences there are.
    pub count: u64,
    /// Those that were wanted, in file order.
    pub places: Vec<Occurrence>,
}

/// Finds all needles in one pass over a file that is known to decode.
pub fn search<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    needles: &[Needle<'_>],
    tier: Tier,
) -> Result<Vec<Found>, S::Error> {
    let mut search = Search::new(scan, needles, tier);
    if search.patterns.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = scan.lines.bytes();
    let mut decoder = Decoder::new(scan.encoding, bytes.start);
    let mut piece = Decoded::default();
    for_each_chunk(source, bytes.clone(), |offset, chunk| {
        let last = offset + chunk.len() as u64 >= bytes.end;
        if search.linear {
            search.raw.push_linear(offset, chunk);
            search.advance(last);
            return true;
        }
        let mut parts = chunk.chunks(DECODED).peekable();
        while let Some(part) = parts.next() {
            let last = last && parts.peek().is_none();
            decoder.feed(part, last, &mut piece);
            search.raw.push_decoded(&piece);
            search.advance(last);
        }
        true
    })?;
    Ok(search.patterns.into_iter().map(Pattern::finish).collect())
}

/// The lines that occurrences touch.
pub(crate) fn lines_of<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    places: &[Occurrence],
) -> Result<Vec<LineRange>, S::Error> {
    let mut cursor = scan.lines.cursor(source);
    let touched = places.iter().map(|place| {
        let (first, _) = cursor.line_at(place.at.start)?;
        let (last, _) = cursor.line_at(place.at.end.saturating_sub(1).max(place.at.start))?;
        Ok(LineRange::new(first, last.get() - first.index()))
    });
    touched.collect()
}

/// So many bytes are decoded at a time: each character costs a [`Spot`].
const DECODED: usize = 32 * 1024;

/// Blanks before a line end are looked through up to this many; a longer run counts as text.
const LONGEST_BLANKS: usize = 1024 * 1024;

/// What the offsets around a place in text are, for an edit that begins or ends there.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// The place, counted in bytes of text from where the stream began.
    index: u64,
    begin: Option<Seam>,
    end: Option<Seam>,
    /// The same before the blanks that were left out here, if any were.
    before_blanks: Option<(Option<Seam>, Option<Seam>)>,
}

/// Text, and where it stands in the file.
#[derive(Debug)]
struct Positioned {
    text: Vec<u8>,
    /// The index of `text`'s first byte in the stream.
    base: u64,
    /// Sorted by index.
    spots: VecDeque<Spot>,
    /// Whether text and file run in step from each spot to the next; else only spots are places to cut.
    linear: bool,
}

impl Positioned {
    fn new(linear: bool) -> Self {
        Self { text: Vec::new(), base: 0, spots: VecDeque::new(), linear }
    }

    fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// The spot at `index`, which for text that runs in step is computed from the one before.
    fn spot(&self, index: u64) -> Option<Spot> {
        let after = self.spots.partition_point(|spot| spot.index <= index);
        let spot = *self.spots.get(after.checked_sub(1)?)?;
        if spot.index == index {
            return Some(spot);
        }
        let step = index - spot.index;
        self.linear.then(|| {
            let seam = spot.begin.map(|begin| Seam::ascii(begin.offset + step));
            Spot { index, begin: seam, end: seam, before_blanks: None }
        })
    }

    /// An offset at or before `index`, where there is no place to cut.
    fn near(&self, index: u64) -> u64 {
        let mut before = self.spots.iter().rev().filter(|spot| spot.index <= index);
        before.find_map(|spot| spot.begin.or(spot.end)).map_or(0, |seam| seam.offset)
    }

    /// Sets a spot at the end of the text, in place of one that is already there.
    fn set(&mut self, begin: Option<Seam>, end: Option<Seam>) {
        let index = self.end();
        while self.spots.back().is_some_and(|spot| spot.index >= index) {
            self.spots.pop_back();
        }
        self.spots.push_back(Spot { index, begin, end, before_blanks: None });
    }

    fn push_linear(&mut self, offset: u64, bytes: &[u8]) {
        let seam = Some(Seam::ascii(offset));
        self.set(seam, seam);
        self.text.extend_from_slice(bytes);
    }

    fn push_decoded(&mut self, decoded: &Decoded) {
        let mut from = 0;
        for (index, before, after) in decoded.seams() {
            self.text.extend_from_slice(decoded.text.as_bytes().get(from..index).unwrap_or_default());
            self.set(before, after);
            from = index;
        }
    }

    /// Appends a part of another text.
    fn push_part(&mut self, from: &Self, part: Range<u64>) {
        if let Some(spot) = from.spot(part.start) {
            self.set(spot.begin, spot.end);
        }
        let shift = |index: u64| index - part.start + self.end();
        let first = from.spots.partition_point(|spot| spot.index <= part.start);
        let inside = from.spots.range(first..).take_while(|spot| spot.index <= part.end);
        let moved: Vec<Spot> = inside.map(|spot| Spot { index: shift(spot.index), ..*spot }).collect();
        self.spots.extend(moved);
        self.text.extend_from_slice(from.slice(part));
    }

    fn slice(&self, range: Range<u64>) -> &[u8] {
        let local = |index: u64| usize::try_from(index.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.text.get(local(range.start)..local(range.end)).unwrap_or_default()
    }

    /// Forgets what is before `index`.
    fn forget(&mut self, index: u64) {
        if index <= self.base {
            return;
        }
        let kept = self.spot(index);
        let gone = usize::try_from(index - self.base).unwrap_or(usize::MAX).min(self.text.len());
        self.text.drain(..gone);
        self.base += gone as u64;
        while self.spots.front().is_some_and(|spot| spot.index <= index) {
            self.spots.pop_front();
        }
        if let Some(spot) = kept {
            self.spots.push_front(spot);
        }
    }
}

/// A needle on its way through the file.
struct Pattern<'a> {
    finder: memmem::Finder<'a>,
    /// The blanks that end the needle and that the second tier looks at by themselves.
    tail: &'a [u8],
    /// How far the next occurrence must be from this one, at least.
    shift: u64,
    /// The needle's period, if that is not more than half of it.
    period: Option<u64>,
    /// Whether the needle begins with blanks before a line end: the file's blanks there belong to the match.
    owns_first_blanks: bool,
    ends_line: bool,
    whole_lines: bool,
    keep: Keep,
    /// Where the next occurrence may begin.
    next: u64,
    count: u64,
    before: VecDeque<Occurrence>,
    after: Vec<Occurrence>,
}

impl<'a> Pattern<'a> {
    fn new(needle: &Needle<'a>, tier: Tier) -> Self {
        let raw = needle.text;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let first = raw.split_once('\n').map(|(first, _)| first).unwrap_or_default();
        let (text, tail) = match tier {
            Tier::Exact => (raw.as_bytes().to_vec(), &[][..]),
            Tier::TrailingWhitespace => {
                let kept = raw.trim_end_matches([' ', '\t']).len();
                let lines: Vec<&str> =
                    raw.split('\n').map(|line| line.trim_end_matches([' ', '\t'])).collect();
                (lines.join("\n").into_bytes(), raw.as_bytes().get(kept..).unwrap_or_default())
            }
        };
        let (shift, periodic) = shift(&text);
        Self {
            shift: shift as u64,
            period: periodic.then_some(shift as u64),
            ends_line: text.ends_with(b"\n") && tail.is_empty(),
            owns_first_blanks: tier == Tier::TrailingWhitespace
                && !first.is_empty()
                && first.as_bytes().iter().all(blank),
            finder: memmem::Finder::new(&text).into_owned(),
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

    /// How much text after an occurrence decides about it.
    fn look_ahead(&self) -> u64 {
        self.tail.len() as u64 + 1
    }

    /// Finds what can be decided in the window; nothing more will come if it is the `last`.
    fn search(&mut self, window: &Positioned, tier: Tier, last: bool, virtual_end: bool, kept: &mut u64) {
        if self.length() == 0 {
            return;
        }
        let end = window.end();
        let mut known = None;
        while let Some(start) = known.take().or_else(|| self.find(window)) {
            if !last && start + self.length() + self.look_ahead() > end {
                self.next = start;
                return;
            }
            let accepted = self.accept(window, tier, start, virtual_end);
            if let (Some((_, text_end)), Keep::All(_)) = (&accepted, self.keep) {
                self.next = *text_end;
            } else {
                known = self.again(window, start);
            }
            if let Some((occurrence, _)) = accepted {
                self.take(occurrence, kept);
            }
        }
        self.next = self.next.max((end + 1).saturating_sub(self.length()));
    }

    fn find(&self, window: &Positioned) -> Option<u64> {
        let at = self.finder.find(window.slice(self.next..window.end()))?;
        Some(self.next + at as u64)
    }

    /// The occurrence one period after the one at `start`, if there is one; else sets where the next may begin.
    ///
    /// Only the last period need be compared, so that texts that repeat themselves cost no more than others. Where it
    /// differs, no occurrence begins until all periods of this one are over (Fine and Wilf's theorem).
    fn again(&mut self, window: &Positioned, start: u64) -> Option<u64> {
        let end = start + self.length();
        self.next = start + self.shift;
        // What has not been read yet cannot be told yet.
        let period = self.period.filter(|period| end + period <= window.end())?;
        let needle = self.finder.needle();
        let last = usize::try_from(self.length() - period).ok().and_then(|at| needle.get(at..));
        if last == Some(window.slice(end..end + period)) {
            return Some(start + period);
        }
        self.next = self.next.max(end - period + 1);
        None
    }

    fn accept(
        &self,
        window: &Positioned,
        tier: Tier,
        start: u64,
        virtual_end: bool,
    ) -> Option<(Occurrence, u64)> {
        let mut text_end = start + self.length();
        if self.whole_lines && start > 0 && window.slice(start - 1..start) != b"\n" {
            return None;
        }
        let at_end = virtual_end && text_end == window.end();
        // The end of the file is a line end only after other text, and for a text that ends with it.
        if at_end && (self.length() == 1 || !self.ends_line) {
            return None;
        }
        if tier == Tier::TrailingWhitespace && !self.ends_line {
            let next = window.slice(text_end..text_end + 1);
            if !next.is_empty() && next != b"\n" {
                if window.slice(text_end..text_end + self.tail.len() as u64) != self.tail {
                    return None;
                }
                text_end += self.tail.len() as u64;
            }
        }
        let (first, last) = (window.spot(start), window.spot(text_end));
        let begin = match first.and_then(|spot| spot.before_blanks).filter(|_| self.owns_first_blanks) {
            Some((begin, _)) => begin,
            None => first.and_then(|spot| spot.begin),
        };
        // Blanks that follow a line's end are the next line's.
        let end = match last.and_then(|spot| spot.before_blanks).filter(|_| self.ends_line) {
            Some((_, end)) => end,
            None => last.and_then(|spot| spot.end),
        };
        let editable = begin.is_some() && end.is_some();
        let begin = begin.unwrap_or_else(|| Seam::ascii(window.near(start)));
        let end = end.unwrap_or_else(|| Seam::ascii(window.near(text_end).max(begin.offset)));
        let occurrence = Occurrence { at: begin.offset..end.offset, seams: (begin, end), at_end, editable };
        Some((occurrence, text_end))
    }

    fn take(&mut self, occurrence: Occurrence, kept: &mut u64) {
        self.count += 1;
        match self.keep {
            Keep::All(most) if *kept < most => {
                *kept += 1;
                self.after.push(occurrence);
            }
            Keep::Closest(to) if occurrence.at.start < to => {
                if self.before.len() == CLOSEST {
                    self.before.pop_front();
                }
                self.before.push_back(occurrence);
            }
            Keep::Closest(_) if self.after.len() < CLOSEST => self.after.push(occurrence),
            _ => {}
        }
    }

    fn finish(self) -> Found {
        let mut places: Vec<Occurrence> = self.before.into_iter().chain(self.after).collect();
        if let Keep::Closest(to) = self.keep {
            places.sort_by_key(|place| place.at.start.abs_diff(to));
            places.truncate(CLOSEST);
            places.sort_by_key(|place| place.at.start);
        }
        Found { count: self.count, places }
    }
}

struct Search<'a> {
    tier: Tier,
    convention: Convention,
    /// Whether text is searched as it stands in the file: nothing to decode, no CRLF, the first tier.
    verbatim: bool,
    linear: bool,
    unterminated: bool,
    raw: Positioned,
    /// Up to where `raw` has been moved into the window.
    moved: u64,
    window: Positioned,
    patterns: Vec<Pattern<'a>>,
    /// Searching pays once the window holds this much.
    enough: usize,
    /// How many occurrences are kept for needles that want all of theirs.
    kept: u64,
}

impl<'a> Search<'a> {
    fn new(scan: &Scan, needles: &[Needle<'a>], tier: Tier) -> Self {
        let linear = matches!(scan.encoding, Encoding::Utf8 | Encoding::Ascii);
        let lines = &scan.lines;
        let patterns: Vec<Pattern<'a>> = needles.iter().map(|needle| Pattern::new(needle, tier)).collect();
        let longest =
            patterns.iter().map(|pattern| pattern.length() + pattern.look_ahead()).max().unwrap_or_default();
        Self {
            tier,
            convention: lines.convention(),
            verbatim: linear
                && tier == Tier::Exact
                && lines.census().crlf == 0
                && lines.convention() == Convention::Lf,
            linear,
            unterminated: lines.is_unterminated(),
            raw: Positioned::new(linear),
            moved: 0,
            window: Positioned::new(linear),
            patterns,
            enough: usize::try_from(longest.saturating_mul(2)).unwrap_or(usize::MAX),
            kept: 0,
        }
    }

    /// Moves what has been read into the window, and searches it.
    fn advance(&mut self, last: bool) {
        let hold = self.held_back(last);
        let virtual_end = last && self.unterminated;
        if virtual_end {
            self.normalise_lines(hold);
            self.end_line(hold, hold);
        } else {
            self.normalise(hold);
        }
        self.raw.forget(self.moved);
        if last || self.window.text.len() >= self.enough {
            for pattern in &mut self.patterns {
                pattern.search(&self.window, self.tier, last, virtual_end, &mut self.kept);
            }
            let next = self.patterns.iter().map(|pattern| pattern.next).min().unwrap_or_default();
            self.window.forget(next.saturating_sub(1).min(self.window.end()));
        }
    }

    /// Up to where the text read so far can be judged: a CR or blanks at its end may belong to a line end that follows.
    fn held_back(&self, last: bool) -> u64 {
        if last || self.verbatim {
            return self.raw.end();
        }
        let held = self
            .raw
            .text
            .iter()
            .rev()
            .take(LONGEST_BLANKS)
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        self.raw.end() - held.count() as u64
    }

    fn normalise(&mut self, hold: u64) {
        self.normalise_lines(hold);
        if self.moved < hold {
            self.window.push_part(&self.raw, self.moved..hold);
            self.moved = hold;
        }
    }

    /// Moves the lines that are complete.
    fn normalise_lines(&mut self, hold: u64) {
        if !self.verbatim {
            let terminator = if self.convention == Convention::Cr { b'\r' } else { b'\n' };
            while let Some(at) = memchr::memchr(terminator, self.raw.slice(self.moved..hold)) {
                let mut text_end = self.moved + at as u64;
                let after = text_end + 1;
                if self.convention == Convention::Lf && self.raw.slice(self.moved..text_end).ends_with(b"\r")
                {
                    text_end -= 1;
                }
                self.end_line(text_end, after);
            }
        }
    }

    /// Moves a line into the window: its text, which ends at `text_end`, and a `\n` for its terminator, after which the
    /// next line begins.
    fn end_line(&mut self, text_end: u64, after: u64) {
        let mut kept = text_end;
        if self.tier == Tier::TrailingWhitespace {
            let text = self.raw.slice(self.moved..text_end);
            kept -= text.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count() as u64;
        }
        self.window.push_part(&self.raw, self.moved..kept);
        let (terminator, blanks) = (self.raw.spot(text_end), self.raw.spot(kept));
        let sides = |spot: Option<Spot>| (spot.and_then(|spot| spot.begin), spot.and_then(|spot| spot.end));
        let (begin, end) = sides(terminator);
        self.window.set(begin, end);
        if let Some(spot) = self.window.spots.back_mut().filter(|_| kept < text_end) {
            spot.before_blanks = Some(sides(blanks));
        }
        self.window.text.push(b'\n');
        if let Some(spot) = self.raw.spot(after) {
            self.window.set(spot.begin, spot.end);
        }
        self.moved = after;
    }
}

/// How far apart two occurrences of `needle` are at least: its period, and whether that is what it is, or a bound below
/// it that is more than half of the needle (Crochemore and Perrin, "Two-way string-matching", 1991). Needs no memory.
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

/// Where the suffix of `needle` that comes last in (reversed) lexical order begins, and its period.
fn maximal_suffix(needle: &[u8], reversed: bool) -> (usize, usize) {
    let (mut left, mut right, mut offset, mut period) = (0, 1, 0, 1);
    while let Some(a) = needle.get(right + offset) {
        let Some(b) = needle.get(left + offset) else { break };
        if (a < b) != reversed && a != b {
            right += offset + 1;
            offset = 0;
            period = right - left;
        } else if a == b {
            if offset + 1 == period {
                right += offset + 1;
                offset = 0;
            } else {
                offset += 1;
            }
        } else {
            left = right;
            right += 1;
            offset = 0;
            period = 1;
        }
    }
    (left, period)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scan::Scanner;

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

    /// The bytes where each text stands, in both tiers; a text that ends in a line end is also looked for as whole lines.
    fn check(rows: &[(&str, &str)]) -> String {
        let tell = |&(file, text): &(&str, &str)| {
            let places = |tier, whole_lines, keep| {
                let needle = Needle { text, whole_lines, keep };
                let found = search(file.as_bytes(), &scan(file.as_bytes()), &[needle], tier).unwrap();
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }))]

        #[test]
        fn overlapping_occurrences_are_all_counted(file in "[ab]{0,60}", needle in "[ab]{1,9}") {
            let starts: Vec<u64> = (0..file.len()).filter(|at| file[*at..].starts_with(&needle)).map(|at| at as u64).collect();
            let wanted = Needle { text: &needle, whole_lines: false, keep: Keep::Closest(0) };
            for found in [
                search(file.as_bytes(), &scan(file.as_bytes()), &[wanted], Tier::Exact).unwrap(),
                search(&Slow(file.as_bytes()), &scan(file.as_bytes()), &[wanted], Tier::Exact).unwrap(),
            ] {
                prop_assert_eq!(found[0].count, starts.len() as u64);
                let places: Vec<u64> = found[0].places.iter().map(|place| place.at.start).collect();
                prop_assert_eq!(&places, &starts[..places.len()]);
            }
        }

        #[test]
        fn chunks_make_no_difference(file in "([ab \t\r\n]|\r\n){0,40}", needle in "[ab \t\n]{1,6}", whole_lines: bool) {
            let text = if whole_lines { format!("{}\n", needle.trim_end_matches('\n')) } else { needle };
            for tier in [Tier::Exact, Tier::TrailingWhitespace] {
                for keep in [Keep::Closest(7), Keep::All(1000)] {
                    let wanted = Needle { text: &text, whole_lines, keep };
                    let at_once = search(file.as_bytes(), &scan(file.as_bytes()), &[wanted], tier).unwrap();
                    let slowly = search(&Slow(file.as_bytes()), &scan(file.as_bytes()), &[wanted], tier).unwrap();
                    prop_assert_eq!(at_once, slowly);
                }
            }
        }
    }
}
