//! The search, while the lines stream by.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use super::joined::JoinedSearch;
use super::segments::{LineSegment, NormalizedLine, SegmentedReading, read};
use crate::line::{LineNumber, LineRange};

/// The most lines that may have been left out of a text.
const MAX_LEFT_OUT: u64 = 60;

/// A wanted text of more bytes than this is not looked for: that takes several copies of it.
const LONGEST: usize = 1024 * 1024;

/// A text of more segments than this is looked for as a whole only, not as head and tail.
const MAX_PARTED: usize = 2_000;

/// The most segments that are compared to find head and tail: lines that are all alike would take quadratic
/// time.
const MAX_COMPARED: u64 = 50_000_000;

/// The most lines by which a range may be off.
const OFF: u64 = 100;

/// No more places than this are kept of a kind: none of so many is certain.
const MAX_KEPT: usize = 1_000;

/// A head and a tail of the wanted text, with lines between that it lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GappedMatch {
    /// The lines from the first of the head to the last of the tail.
    pub lines: LineRange,
    /// The lines that were left out. Where the text has the first or the last of them as well as its
    /// neighbour, other lines of the same text may have been meant; their number is right.
    pub left_out: LineRange,
    /// Twice the number of lines that are there as they are written, and the number of others that have its
    /// indentation.
    pub exact: usize,
}

/// The matches, in file order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NormalizedMatches {
    /// Whole lines that are the wanted text once slips are undone.
    pub alike: Vec<NormalizedMatch>,
    /// A head and a tail of the wanted text; no place holds another one.
    pub gaps: Vec<GappedMatch>,
}

/// Whole lines that are the wanted text once slips are undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NormalizedMatch {
    /// The lines.
    pub lines: LineRange,
    /// Twice the number of lines that are there as they are written, and the number of others that have its
    /// indentation.
    pub exact: usize,
}

impl NormalizedMatches {
    /// Returns the alike place that was meant: the asked range if it is one, or the one that it overlaps
    /// where all others are far; else the only one, or the only one that is most like the text as it is
    /// written. `None` where nothing is certain: a range that is off may as well have been meant to be the
    /// next place.
    #[must_use]
    pub fn alike_at(&self, asked: Option<LineRange>) -> Option<LineRange> {
        let places = || self.alike.iter().map(|place| place.lines);
        let most = self.alike.iter().map(|place| place.exact).max()?;
        asked
            .and_then(|asked| met(places(), asked))
            .or_else(|| only(self.alike.iter().filter(|place| place.exact == most).map(|place| place.lines)))
    }

    /// Returns the gap that was meant: the one that the asked range meets where all others are far, else the
    /// only one, or the only one that is most like the text as it is written.
    #[must_use]
    pub fn gap_at(&self, asked: Option<LineRange>) -> Option<GappedMatch> {
        let gaps = || self.gaps.iter().copied();
        let met = asked.and_then(|asked| met(gaps().map(|gap| gap.lines), asked));
        let most = self.gaps.iter().map(|gap| gap.exact).max()?;
        only(gaps().filter(|gap| Some(gap.lines) == met))
            .or_else(|| only(gaps().filter(|gap| gap.exact == most)))
    }
}

/// Returns the place that is the asked range, or the one that it overlaps where no other is near.
fn met(places: impl Iterator<Item = LineRange> + Clone, asked: LineRange) -> Option<LineRange> {
    let near = |place: &LineRange| place.distance(asked) <= OFF;
    let is_asked = places.clone().find(|place| *place == asked);
    is_asked.or_else(|| only(places.filter(near)).filter(|place| place.overlaps(asked)))
}

/// Returns the item if there is exactly one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next();
    first.filter(|_| items.next().is_none())
}

/// A search for the place that was meant, in a file whose lines are fed in order. Its memory is bounded by
/// the wanted text, and a thousand places.
#[derive(Debug)]
pub struct NormalizedSearch {
    searches: Vec<Search>,
    joined: Vec<JoinedSearch>,
}

impl NormalizedSearch {
    /// Makes a search for `wanted`. Texts of more than a megabyte, and blank ones, are not looked for.
    #[must_use]
    pub fn new(wanted: &str) -> Self {
        let (readings, joined) = if wanted.len() <= LONGEST { read(wanted) } else { Default::default() };
        Self { searches: readings.into_iter().map(Search::new).collect(), joined }
    }

    /// Tells whether there is nothing to look for.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.searches.is_empty()
    }

    /// Takes the next line, without its terminator; `None` for one that is too long to be compared. Lines
    /// come in order, beginning anywhere in the file.
    pub fn feed(&mut self, line: LineNumber, text: Option<&str>) {
        let fed = text.map(NormalizedLine::new);
        let segments = fed.as_ref().map_or(&[][..], |line| &line.segments);
        for search in &mut self.searches {
            search.feed(line, segments);
        }
        for search in &mut self.joined {
            search.feed(line, fed.as_ref().map(|line| &line.unbroken));
        }
    }

    /// Returns what was found: lines that are alike with as few slips undone as possible; else lines that are
    /// alike once joined. A gap is returned only where nothing is alike, or where it is the same lines as a
    /// joined match and says more. A text without a line of five letters or digits is alike only where it
    /// stands once.
    #[must_use]
    pub fn finish(self) -> NormalizedMatches {
        let mut places = NormalizedMatches::default();
        let least = |is_found: fn(&Search) -> bool| {
            self.searches.iter().filter(|search| is_found(search)).map(|search| search.reading.undone).min()
        };
        let [alike, gaps] = [least(Search::is_found), least(|search| !search.gaps.is_empty())];
        let is_least = |search: &Search| Some(search.reading.undone) == alike;
        let is_perfect =
            self.searches.iter().any(|search| is_least(search) && search.perfect().next().is_some());
        for search in self.searches {
            if search.is_found() && is_least(&search) {
                places.alike.extend(&search.alike);
            } else if search.is_found() && !is_perfect {
                // Once more slips are undone, every line stands there as it is written: that may be meant as
                // well.
                places.alike.extend(search.perfect());
            }
            if Some(search.reading.undone) == gaps {
                places.gaps.extend(search.gaps);
            }
        }
        places.alike.sort_unstable_by_key(|place| (place.lines, Reverse(place.exact)));
        places.alike.dedup_by_key(|place| place.lines);
        if !places.alike.is_empty() {
            places.gaps.clear();
            return places;
        }
        places.gaps.sort_unstable_by_key(|gap| (gap.lines, Reverse(gap.exact)));
        places.gaps.dedup_by_key(|gap| gap.lines);
        let all = places.gaps.clone();
        places.gaps.retain(|gap| {
            !all.iter().any(|other| other.lines != gap.lines && gap.lines.contains(other.lines))
        });
        let least =
            self.joined.iter().filter(|search| !search.places.is_empty()).map(|search| search.undone).min();
        let joined = self.joined.into_iter().filter(|search| Some(search.undone) == least);
        let mut joined: Vec<LineRange> = joined.flat_map(|search| search.places).collect();
        joined.sort_unstable();
        joined.dedup();
        if !joined.is_empty() {
            places.gaps.retain(|gap| joined.contains(&gap.lines));
            if places.gaps.is_empty() {
                places.alike = joined.into_iter().map(|lines| NormalizedMatch { lines, exact: 0 }).collect();
            }
        }
        places
    }
}

/// A segment of the file.
#[derive(Clone, Copy, Debug)]
struct Fed {
    hash: u64,
    exact: u64,
    indent: u64,
    line: LineNumber,
    /// Whether it is at the start of its line, and whether at the end.
    ends: [bool; 2],
}

/// The search for one reading.
#[derive(Debug)]
struct Search {
    reading: SegmentedReading,
    is_telling: bool,
    /// For each number of matched segments, how many of them still match if the next one does not (Knuth,
    /// Morris and Pratt 1977).
    fallback: Vec<usize>,
    /// The number of segments that match at the end of what was fed.
    matched: usize,
    /// The last segments, as many as a place can have.
    recent: VecDeque<Fed>,
    most_recent: usize,
    compared: u64,
    alike: Vec<NormalizedMatch>,
    gaps: Vec<GappedMatch>,
}

impl Search {
    fn new(reading: SegmentedReading) -> Self {
        let segments = &reading.segments;
        let mut fallback = Vec::with_capacity(segments.len());
        fallback.push(0);
        let mut length = 0;
        for index in 1..segments.len() {
            while length > 0 && !same(segments, length, index) {
                length = length.checked_sub(1).and_then(|last| fallback.get(last)).copied().unwrap_or(0);
            }
            length += usize::from(same(segments, length, index));
            fallback.push(length);
        }
        // A line has few segments, so that this holds more than the lines that may have been left out.
        let most_recent = segments.len() + reading.between + 2 * usize::try_from(MAX_LEFT_OUT).unwrap_or(0);
        Self {
            is_telling: reading.is_telling(),
            reading,
            fallback,
            matched: 0,
            recent: VecDeque::new(),
            most_recent,
            compared: 0,
            alike: Vec::new(),
            gaps: Vec::new(),
        }
    }

    fn feed(&mut self, line: LineNumber, segments: &[LineSegment]) {
        if segments.is_empty() {
            // Nothing stands across a line that cannot be compared.
            self.matched = 0;
            self.recent.clear();
            return;
        }
        for (index, segment) in segments.iter().enumerate() {
            if self.recent.len() >= self.most_recent {
                self.recent.pop_front();
            }
            let ends = [index == 0, index + 1 == segments.len()];
            self.recent.push_back(Fed {
                hash: segment.hash,
                exact: segment.exact,
                indent: segment.indent,
                line,
                ends,
            });
            self.advance(segment.hash, line, ends[1]);
            if self.reading.segments.last().is_some_and(|last| last.hash == segment.hash) && ends[1] {
                self.part(line);
            }
        }
    }

    /// Tells whether the reading was found as a whole, in one place, or in several with a segment that tells
    /// its place.
    fn is_found(&self) -> bool {
        self.alike.len() == 1 || !self.alike.is_empty() && self.is_telling
    }

    /// Returns the places at which every line is as it is written.
    fn perfect(&self) -> impl Iterator<Item = &NormalizedMatch> {
        self.alike.iter().filter(|place| place.exact == 2 * self.reading.segments.len())
    }

    /// Counts the segments that match with one more, which may end its line, and keeps the place if they are
    /// all.
    fn advance(&mut self, hash: u64, line: LineNumber, ends_line: bool) {
        let wanted = &self.reading.segments;
        loop {
            if wanted.get(self.matched).is_some_and(|segment| segment.hash == hash) {
                self.matched += 1;
                break;
            }
            match self.matched.checked_sub(1).and_then(|last| self.fallback.get(last)) {
                Some(fallback) => self.matched = *fallback,
                None => break,
            }
        }
        if self.matched == wanted.len() {
            self.matched = self.fallback.last().copied().unwrap_or(0);
            let start = self.recent.len().saturating_sub(wanted.len());
            let first = self.recent.get(start);
            let first = first.filter(|first| first.ends[0] && ends_line && self.alike.len() < MAX_KEPT);
            if let Some(lines) = first.and_then(|first| LineRange::between(first.line, line)) {
                let exact = self.exact(0..wanted.len(), start);
                self.alike.push(NormalizedMatch { lines, exact });
            }
        }
    }

    /// Scores the wanted segments from `start` on: two for each that stands there as it is written, one for
    /// each other that has the same indentation.
    fn exact(&self, wanted: Range<usize>, start: usize) -> usize {
        let wanted = self.reading.segments.get(wanted).unwrap_or_default();
        let there = self.recent.range(start.min(self.recent.len())..);
        let score = |(wanted, there): (&LineSegment, &Fed)| {
            if wanted.exact == there.exact { 2 } else { usize::from(wanted.indent == there.indent) }
        };
        wanted.iter().zip(there).map(score).sum()
    }

    /// Keeps the place if a tail of the wanted text ends here, and the rest of it stands above.
    fn part(&mut self, line: LineNumber) {
        let wanted = &self.reading.segments;
        let count = wanted.len();
        if !self.is_telling
            || !(2..=MAX_PARTED).contains(&count)
            || self.gaps.len() >= MAX_KEPT
            || self.compared > MAX_COMPARED
        {
            return;
        }
        let hash = |index: usize| wanted.get(index).map(|segment| segment.hash);
        let fed = self.recent.len();
        let tail = (0..count.min(fed))
            .take_while(|back| self.recent.get(fed - 1 - back).map(|fed| fed.hash) == hash(count - 1 - back))
            .count();
        self.compared += tail as u64;
        if tail == count {
            return;
        }
        // The closest head above is meant: another one further up holds this place.
        for (start, first) in self.recent.range(..fed - tail).enumerate().rev() {
            self.compared += 1;
            if Some(first.hash) != hash(0) || !first.ends[0] {
                continue;
            }
            let head = (0..count)
                .take_while(|index| self.recent.get(start + index).map(|fed| fed.hash) == hash(*index))
                .count();
            self.compared += head as u64;
            // Head and tail are apart: the whole of the text does not stand here.
            let cut = self.cut(start, head, tail).filter(|_| start + count <= fed);
            let Some(cut) = cut else { continue };
            // All that stands between the two, of which the text may elide only a part.
            let edges = self.recent.get(start + cut - 1).zip(self.recent.get(fed - (count - cut)));
            let left_out =
                edges.filter(|(above, below)| above.ends[1] && below.ends[0]).map(|(above, below)| {
                    let first = LineNumber::from_index(above.line.get());
                    LineRange::new(first, below.line.index().saturating_sub(above.line.get()))
                });
            let most = MAX_LEFT_OUT + self.reading.between as u64;
            let left_out = left_out.filter(|left_out| left_out.count() <= most);
            if let Some((left_out, lines)) = left_out.zip(LineRange::between(first.line, line)) {
                let exact = self.exact(0..cut, start) + self.exact(cut..count, fed - (count - cut));
                self.gaps.push(GappedMatch { lines, left_out, exact });
            }
            return;
        }
    }

    /// Returns how many segments belong to the head, which begins at `start`, where `head` and `tail` are the
    /// most that match at either end. One of the two parts tells its place, and the other does or is there as
    /// it is written: `}` stands anywhere, but not with any indentation, and no segments or blank ones stand
    /// everywhere.
    fn cut(&self, start: usize, head: usize, tail: usize) -> Option<usize> {
        let wanted = &self.reading.segments;
        let count = wanted.len();
        let (least, most) = match self.reading.head {
            Some(cut) => (cut, cut),
            None => (1, count),
        };
        let least = least.max(count.saturating_sub(tail));
        (least..=most.min(head)).rev().find(|cut| {
            let parts = [(0..*cut, start), (*cut..count, self.recent.len() - (count - cut))];
            let tells = parts.clone().map(|(part, _)| {
                wanted.get(part).is_some_and(|part| part.iter().any(|segment| segment.is_telling))
            });
            let is_exact = parts.map(|(part, start)| {
                let is_blank =
                    wanted.get(part.clone()).is_none_or(|part| part.iter().all(|segment| segment.is_blank));
                !is_blank && self.exact(part.clone(), start) == 2 * part.len()
            });
            matches!(
                (tells, is_exact),
                ([true, true], _) | ([true, false], [_, true]) | ([false, true], [true, _])
            )
        })
    }
}

fn same(segments: &[LineSegment], a: usize, b: usize) -> bool {
    segments.get(a).zip(segments.get(b)).is_some_and(|(a, b)| a.hash == b.hash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn search(wanted: &str, file: &str) -> NormalizedMatches {
        let mut search = NormalizedSearch::new(wanted);
        for (index, line) in (0..).zip(file.lines()) {
            search.feed(LineNumber::from_index(index), Some(line));
        }
        search.finish()
    }

    fn told(wanted: &str, file: &str) -> String {
        let NormalizedMatches { alike, gaps } = search(wanted, file);
        let gaps: Vec<_> = gaps.iter().map(|gap| (gap.lines, gap.left_out)).collect();
        let alike: Vec<_> = alike.iter().map(|place| place.lines).collect();
        format!("alike {alike:?} gaps {gaps:?}")
    }

    const PROGRAM: &str = "\
fn first() {
\tlet text = \"it's — “so”\\n\";
\tprintln!(\"{text}\");
\tif text.is_empty() {
\t\treturn;
\t}
}

fn second() {
\tlet other = 1;
\tprintln!(\"{text}\");
\tif other > 2 && text < \"a\" {
\t\treturn;
\t}
}
";

    #[test]
    fn whole_lines_are_alike_once_slips_are_undone() {
        insta::assert_snapshot!([
            "    let text = \"it's — “so”\\n\";\n",
            "let text = \"it's - \"so\"\\\\n\";",
            "2\t\tlet text = \"it's — “so”\\n\";\n3\t\tprintln!(\"{text}\");\n",
            "\tlet text = \"it’s — “so”\n\";\n",
            "if other &gt; 2 &amp;&amp; text &lt; \"a\" {\nreturn;\n",
            "LET OTHER=1;",
            "let\u{200b} other = 1;\\n\\tprintln!(\\\"{text}\\\");\\n",
            // Twice in the file, in the middle of a line, and nothing that tells a place.
            "println!(\"{text}\");",
            "other > 2 && text",
            "}\n}\n",
        ].map(|wanted| format!("{wanted:?}: {}\n", told(wanted, PROGRAM))).concat(), @r#"
        "    let text = \"it's — “so”\\n\";\n": alike [2-2] gaps []
        "let text = \"it's - \"so\"\\\\n\";": alike [2-2] gaps []
        "2\t\tlet text = \"it's — “so”\\n\";\n3\t\tprintln!(\"{text}\");\n": alike [2-3] gaps []
        "\tlet text = \"it’s — “so”\n\";\n": alike [2-2] gaps []
        "if other &gt; 2 &amp;&amp; text &lt; \"a\" {\nreturn;\n": alike [12-13] gaps []
        "LET OTHER=1;": alike [10-10] gaps []
        "let\u{200b} other = 1;\\n\\tprintln!(\\\"{text}\\\");\\n": alike [10-11] gaps []
        "println!(\"{text}\");": alike [3-3, 11-11] gaps []
        "other > 2 && text": alike [] gaps []
        "}\n}\n": alike [] gaps []
        "#);
    }

    #[test]
    fn a_nul_is_not_where_a_comment_begins() {
        let wanted = "a first line\0//\0and a comment";
        assert_eq!(search(wanted, "a first line\n// and a comment\n"), NormalizedMatches::default());
        assert_eq!(search(wanted, &format!("a\n{wanted}\n")).alike.len(), 1);
    }

    #[test]
    fn a_head_and_a_tail_with_a_gap() {
        insta::assert_snapshot!([
            "fn first() {\n\tlet text = \"it's — “so”\\n\";\n\tif text.is_empty() {\n",
            "fn second() {\n// ... existing code ...\n\tif other > 2 && text < \"a\" {\n",
            "fn second() {\n...\n\tif other > 2 && text < \"a\" {\n...\n",
            "fn first() {\n...\n\tif text.is_empty() {\n...\n\tlet other = 1;\n",
            "...\n\tlet other = 1;\n",
            // The tail comes first, and a tail that stands anywhere.
            "fn second() {\n\tif text.is_empty() {\n",
            "fn first() {\n\t}\n",
            // A blank line alone that was left out.
            "\t}\n}\nfn second() {\n\tlet other = 1;\n",
            // A part that is blank stands anywhere.
            "fn first() {\n...\n\n...\n\tif text.is_empty() {\n",
        ].map(|wanted| format!("{wanted:?}: {}\n", told(wanted, PROGRAM))).concat(), @r#"
        "fn first() {\n\tlet text = \"it's — “so”\\n\";\n\tif text.is_empty() {\n": alike [] gaps [(1-4, 3-3)]
        "fn second() {\n// ... existing code ...\n\tif other > 2 && text < \"a\" {\n": alike [] gaps [(9-12, 10-11)]
        "fn second() {\n...\n\tif other > 2 && text < \"a\" {\n...\n": alike [] gaps [(9-12, 10-11)]
        "fn first() {\n...\n\tif text.is_empty() {\n...\n\tlet other = 1;\n": alike [] gaps [(1-10, 2-9)]
        "...\n\tlet other = 1;\n": alike [10-10] gaps []
        "fn second() {\n\tif text.is_empty() {\n": alike [] gaps []
        "fn first() {\n\t}\n": alike [] gaps [(1-6, 2-5)]
        "\t}\n}\nfn second() {\n\tlet other = 1;\n": alike [] gaps [(6-10, 8-8)]
        "fn first() {\n...\n\n...\n\tif text.is_empty() {\n": alike [] gaps []
        "#);
        let far = format!("the head\n{}the tail\n", "x\n".repeat(61));
        assert_eq!(search("the head\nthe tail\n", &far).gaps, []);
        let near = format!("the head\n{}the tail\n", "x\n".repeat(60));
        assert_eq!(search("the head\nthe tail\n", &near).gaps.len(), 1);
        // Lines between two that stand for others come on top.
        let parted = "the head\n...\nmiddle one\nmiddle two\n...\nthe tail\n";
        for (count, found) in [(62, 1), (63, 0)] {
            let file = format!("the head\n{}the tail\n", "x\n".repeat(count));
            assert_eq!(search(parted, &file).gaps.len(), found, "{count} lines");
        }
    }

    #[test]
    fn a_gap_tells_how_far_its_lines_are_as_they_are_written() {
        // The head ends as late as it can. Of its lines one has other letters, and the last line of the tail
        // is indented otherwise besides.
        let wanted = "head one\nHead two\nhead six\n\ttail one\n\tTail two\n";
        let file = "above\nhead one\nhead two\nhead six\nleft out\n\ttail one\n\t\ttail two\nbelow\n";
        let lines = |start, end| LineRange::inclusive(start, end).unwrap();
        let gap = GappedMatch { lines: lines(2, 7), left_out: lines(5, 5), exact: 2 + 1 + 2 + 2 };
        assert_eq!(search(wanted, file).gaps, [gap]);
    }

    #[test]
    fn a_part_that_stands_anywhere_has_to_be_as_it_is_written() {
        let gaps = |wanted: &str| {
            let found = search(wanted, PROGRAM).gaps;
            found.iter().map(|gap| (gap.lines.end(), gap.left_out.count())).collect::<Vec<_>>()
        };
        assert_eq!(gaps("fn first() {\n\t}\n}\n"), [(7, 4)]);
        assert_eq!(gaps("fn first() {\n\t}\n  }\n"), []);
        assert_eq!(gaps("fn first() {\n  }\n"), []);
        assert_eq!(gaps("fn first() {\n\n\n"), []);
    }

    #[test]
    fn neither_head_nor_tail_begins_or_ends_within_a_line() {
        let wanted = "the head\nthe tail\n";
        assert_eq!(search(wanted, "the head\nx\nthe tail\n").gaps.len(), 1);
        assert_eq!(search(wanted, "the head\nx\nthe tail\\nand more\n").gaps, []);
        assert_eq!(search(wanted, "and more\\nthe head\nx\nthe tail\n").gaps, []);
        assert_eq!(search(wanted, "the head\\nand more\nx\nthe tail\n").gaps, []);
        assert_eq!(search(wanted, "the head\nx\nand more\\nthe tail\n").gaps, []);
        // Nor does the whole.
        assert_eq!(search(wanted, "the head\nthe tail\n").alike.len(), 1);
        assert_eq!(search(wanted, "the head\nthe tail\\nand more\n").alike, []);
        assert_eq!(search(wanted, "and more\\nthe head\nthe tail\n").alike, []);
    }

    #[test]
    fn a_head_that_is_a_part_of_the_tail_is_none() {
        let file = "line a\nline b\nleft out\nline a\nline b\nline c\n";
        let lines = |start, end| LineRange::inclusive(start, end).unwrap();
        let found = search("line a\nline b\nline a\nline b\nline c\n", file).gaps;
        assert_eq!(found, [GappedMatch { lines: lines(1, 6), left_out: lines(3, 3), exact: 10 }]);
    }

    #[test]
    fn a_gap_is_found_below_many_other_heads_and_tails() {
        let wanted = "the head\nhead two\ntail one\nthe tail\n";
        let [heads, tails] = ["the head\nhead two\n", "tail one\nthe tail\n"].map(|part| part.repeat(100));
        for above in ["the tail\n".repeat(100), tails, heads.clone(), heads + "the tail\n"] {
            let file = format!("{above}the head\nhead two\nx\ntail one\nthe tail\n");
            assert_eq!(search(wanted, &file).gaps.len(), 1, "{above}");
        }
    }

    #[test]
    fn all_that_is_compared_counts() {
        let mut search = NormalizedSearch::new("the head\nthe tail\n");
        for index in 0..100 {
            search.feed(LineNumber::from_index(index), Some("the tail"));
        }
        // Each line is a tail, and a head is looked for in each line above it.
        assert!(search.searches[0].compared >= 100 * 99 / 2);
    }

    #[test]
    fn lines_around_the_text_and_broken_lines() {
        let file = "\
a first line

foo(
    bar,
    baz,
)
    }

# Title

```js
one two
three four
```

// some words of
// a comment
last_call(1, 2)
";
        insta::assert_snapshot!([
            "\nfoo(\n    bar,\n    baz,\n)\n\n",
            "```\nlast_call(1, 2)\n```",
            "src/x.js\n```js\nfoo(\n    bar,\n",
            "<<<<<<< SEARCH\nlast_call(1, 2)\n=======",
            // The file's own fence, and a blank line too many beside it.
            "\n```js\nOne two\nthree four\n```\n",
            "foo(bar, baz)",
            "one\ntwo three four",
            "// some words\n// of a comment\n",
            "// some words of a comment\nlast_call(1,\n    2,\n)",
            // Parts of lines are none.
            "two three",
            "words of a comment",
            // Too short to tell a place, but there once; and twice.
            "  }",
            ")",
            "\n\n",
        ].map(|wanted| format!("{wanted:?}: {}\n", told(wanted, file))).concat(), @r#"
        "\nfoo(\n    bar,\n    baz,\n)\n\n": alike [2-6] gaps []
        "```\nlast_call(1, 2)\n```": alike [18-18] gaps []
        "src/x.js\n```js\nfoo(\n    bar,\n": alike [3-4] gaps []
        "<<<<<<< SEARCH\nlast_call(1, 2)\n=======": alike [18-18] gaps []
        "\n```js\nOne two\nthree four\n```\n": alike [10-14] gaps []
        "foo(bar, baz)": alike [3-6] gaps []
        "one\ntwo three four": alike [12-13] gaps []
        "// some words\n// of a comment\n": alike [16-17] gaps []
        "// some words of a comment\nlast_call(1,\n    2,\n)": alike [16-18] gaps []
        "two three": alike [] gaps []
        "words of a comment": alike [] gaps []
        "  }": alike [7-7] gaps []
        ")": alike [6-6] gaps []
        "\n\n": alike [] gaps []
        "#);
    }

    #[test]
    fn places_that_are_certain() {
        let lines = |start, end| LineRange::inclusive(start, end).unwrap();
        let places = |alike: &[(u64, u64)]| NormalizedMatches {
            alike: alike
                .iter()
                .map(|(start, end)| NormalizedMatch { lines: lines(*start, *end), exact: 0 })
                .collect(),
            gaps: Vec::new(),
        };
        let check = |alike: &[(u64, u64)], asked: Option<(u64, u64)>| {
            places(alike).alike_at(asked.map(|(start, end)| lines(start, end)))
        };
        assert_eq!(check(&[(1, 2)], None), Some(lines(1, 2)));
        assert_eq!(check(&[(1, 2), (5, 6)], None), None);
        assert_eq!(check(&[(1, 2), (2, 3)], Some((2, 3))), Some(lines(2, 3)));
        // A range that is off may be meant to be either.
        assert_eq!(check(&[(1, 2), (5, 6)], Some((6, 7))), None);
        assert_eq!(check(&[(1, 2), (505, 506)], Some((506, 507))), Some(lines(505, 506)));
        assert_eq!(check(&[(1, 2), (509, 510)], Some((5, 5))), None);
        assert_eq!(check(&[], Some((5, 5))), None);

        let check = |gaps: &[(u64, u64, usize)], asked: Option<(u64, u64)>| {
            let gap = |(start, end, exact): &(u64, u64, usize)| GappedMatch {
                lines: lines(*start, *end),
                left_out: lines(start + 1, start + 1),
                exact: *exact,
            };
            let places = NormalizedMatches { alike: Vec::new(), gaps: gaps.iter().map(gap).collect() };
            places.gap_at(asked.map(|(start, end)| lines(start, end))).map(|gap| gap.lines)
        };
        assert_eq!(check(&[(1, 3, 4)], None), Some(lines(1, 3)));
        assert_eq!(check(&[(1, 3, 4), (505, 507, 4)], None), None);
        assert_eq!(check(&[(1, 3, 4), (505, 507, 3)], None), Some(lines(1, 3)));
        assert_eq!(check(&[(1, 3, 4), (505, 507, 3)], Some((507, 508))), Some(lines(505, 507)));
        assert_eq!(check(&[(1, 3, 4), (505, 507, 4)], Some((1, 1))), Some(lines(1, 3)));
        assert_eq!(check(&[(1, 3, 4), (5, 7, 4)], Some((6, 8))), None);
        assert_eq!(check(&[], Some((5, 5))), None);
    }

    #[test]
    fn the_place_with_the_indentation_of_the_text_is_meant() {
        let file = "fn one() {\n\tcount = 1;\n}\nfn two() {\n\t\tcount = 1;\n}\n";
        let meant = |wanted| search(wanted, file).alike_at(None).map(LineRange::end);
        assert_eq!(
            [meant("\tCount = 1;"), meant("\t\tCount = 1;"), meant("Count = 1;")],
            [Some(2), Some(5), None]
        );
    }

    #[test]
    fn what_is_alike_only_once_a_slip_is_undone_counts_where_it_stands_as_it_is_written() {
        let places = |file| search("```\nsome one\nsome two\n```", file).alike;
        let lines = |start, end| LineRange::inclusive(start, end).unwrap();
        let alike = |lines, exact| NormalizedMatch { lines, exact };
        // With the fence the text stands here in other letters, and without it as it is written.
        let file = "```\nSome one\nsome two\n```\n\nsome one\nsome two\n";
        assert_eq!(places(file), [alike(lines(1, 4), 7), alike(lines(6, 7), 4)]);
        // As it is written it stands here with the fence.
        let file = "```\nsome one\nsome two\n```\n\nsome one\nsome two\n";
        assert_eq!(places(file), [alike(lines(1, 4), 8)]);
        // Nor does it stand there as it is written without the fence.
        let file = "```\nSome one\nsome two\n```\n\nsome one\nSome two\n";
        assert_eq!(places(file), [alike(lines(1, 4), 7)]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn hostile_sizes() {
        let many = "the same\n".repeat(50_000);
        let half = "the same\n".repeat(1_000) + "other\n" + &"the same\n".repeat(900);
        assert!(search(&half, &many).gaps.is_empty());
        assert!(search("the same\n", &many).alike.len() <= MAX_KEPT);
        let gaps = "the head\nx\nthe tail\n".repeat(MAX_KEPT + 1);
        assert_eq!(search("the head\nthe tail\n", &gaps).gaps.len(), MAX_KEPT);
        assert!(NormalizedSearch::new(&"x".repeat(LONGEST + 1)).is_idle());
        assert!(NormalizedSearch::new("\n\n").is_idle());
        // Many ways to read many lines.
        let around = format!("{0}x\n{many}{0}", "\n".repeat(20));
        assert_eq!(NormalizedSearch::new(&around).searches.len(), 2);
        assert!(NormalizedSearch::new(&format!("{0}some x\n{0}", "\n".repeat(20))).searches.len() <= 17);
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn so_many_places_across_lines_count_and_so_many_lines_for_a_head_and_a_tail() {
        assert_eq!(search("the\nsame\n", &"the same\n".repeat(MAX_KEPT + 1)).alike.len(), MAX_KEPT);
        let lines: Vec<String> = (0..=MAX_PARTED + 1).map(|number| format!("line {number}")).collect();
        let gaps = |count: usize| {
            let file = lines[..=count].join("\n");
            let lacking = [&lines[..5], &lines[6..=count]].concat().join("\n");
            search(&lacking, &file).gaps.len()
        };
        assert_eq!((gaps(MAX_PARTED), gaps(MAX_PARTED + 1)), (1, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]

        /// Lines that are all different, so that there is one place.
        #[test]
        fn a_block_with_a_slip_is_certain(
            words in prop::collection::vec("( {0,8}|\t{0,2})[a-zä]{4,9}", 8..40),
            place in any::<prop::sample::Index>(),
            length in 2..8_usize,
            slip in 0..11,
        ) {
            let file: Vec<String> =
                words.iter().zip(0..).map(|(word, number)| format!("{word} line{number} – “x”")).collect();
            let start = place.index(file.len() - length + 1);
            let block = file[start..start + length].join("\n");
            let wanted = match slip {
                0 => block.replace(['\t', ' '], ""),
                1 => block.replace('“', "\"").replace('–', "-"),
                2 => block.replace('\n', "\\n"),
                3 => block.to_uppercase(),
                4 => (100..).zip(block.lines()).fold(String::new(), |text, (number, line)| format!("{text}{number}\t{line}\n")),
                5 => block.replace('l', "\u{ad}l"),
                6 => format!("\n{block}\n\n"),
                7 => format!("```\n{block}\n```\n"),
                8 => format!("src/some.rs\n{block}\n=======\n"),
                9 => block.replace('\n', " "),
                _ => block.replace(' ', "\n"),
            };
            let expected = LineRange::new(LineNumber::from_index(start as u64), length as u64);
            let found = search(&wanted, &file.join("\n"));
            prop_assert_eq!(found.alike_at(None), Some(expected), "{:?}", wanted);
            // A block without a line of its middle is a gap there.
            if length > 2 {
                let lacking: Vec<_> =
                    (0..length).filter(|index| *index != 1).map(|index| file[start + index].as_str()).collect();
                let left_out = LineRange::new(LineNumber::from_index(start as u64 + 1), 1);
                let gap = search(&lacking.join("\n"), &file.join("\n")).gap_at(None);
                prop_assert_eq!(gap.map(|gap| (gap.lines, gap.left_out)), Some((expected, left_out)));
            }
        }

        /// Lines that repeat, so that a place may begin within what looks like another one.
        #[test]
        fn all_lines_that_are_alike_are_found_and_compared_as_they_are_written(
            mut wanted in prop::collection::vec("( |\t){0,2}([Aa]lpha|[Bb]races)", 1..4),
            file in prop::collection::vec("( |\t){0,2}([Aa]lpha|[Bb]races)", 0..12),
        ) {
            // A line that was copied twice is also looked for once.
            wanted.dedup();
            let blanks = |line: &str| line.len() - line.trim_start().len();
            let score = |(wanted, there): (&String, &String)| {
                if wanted == there {
                    2
                } else {
                    usize::from(wanted[..blanks(wanted)] == there[..blanks(there)])
                }
            };
            let expected: Vec<_> = (0..)
                .zip(file.windows(wanted.len()))
                .filter(|(_, there)| {
                    wanted.iter().zip(*there).all(|(a, b)| a.trim().eq_ignore_ascii_case(b.trim()))
                })
                .map(|(start, there)| NormalizedMatch {
                    lines: LineRange::new(LineNumber::from_index(start), wanted.len() as u64),
                    exact: wanted.iter().zip(there).map(score).sum(),
                })
                .collect();
            if !expected.is_empty() {
                prop_assert_eq!(search(&wanted.join("\n"), &file.join("\n")).alike, expected);
            }
        }

        #[test]
        fn anything_is_answered(
            wanted in "([ab.…\\\\n&lt;1\t—-]{0,6}\n?){0,6}",
            file in "([ab.…\\\\n&lt;1\t—-]{0,6}\n?){0,12}",
        ) {
            let total = file.lines().count() as u64;
            let NormalizedMatches { alike, gaps } = search(&wanted, &file);
            for place in alike.iter().map(|place| &place.lines).chain(gaps.iter().map(|gap| &gap.lines)) {
                prop_assert!(!place.is_empty() && place.end() <= total);
            }
            prop_assert!(gaps.iter().all(|gap| gap.lines.contains(gap.left_out)));
        }
    }
}
