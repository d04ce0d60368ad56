//! The first stage: keeps the best windows while the lines stream by, and asks the second stage at the end.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::align::{AlignedLines, WantedLine};
use super::candidate::{Candidate, Rank};
use super::fold::{LINE_BYTES, compared_chars, fold, head};
use super::grams::Grams;
use super::near::SimilarPlace;
use crate::cause;
use crate::line::{LineNumber, LineRange};
use crate::matching::trim_blanks;

/// The most similar places that an error reports.
pub const MAX_PLACES: usize = 3;

/// The number of windows that are kept for the second stage.
const CANDIDATES: usize = 16;

/// The most lines of the wanted text that are compared. The others are assumed to follow.
const WANTED_LINES: usize = 100;

/// The most lines of the range that was asked for that are compared.
const ASKED_LINES: usize = 2 * WANTED_LINES;

/// The most bytes of a wanted text for which another meaning is tried: that takes several copies of the text.
const LONGEST_MEANT: usize = 1024 * 1024;

/// The most lines of a candidate above and below its window; no more than the window has, and none around a
/// single line. Lines may have been added or removed inside, and of a few lines another window may hold more,
/// or as much, by chance.
const MARGIN: usize = 8;

/// The share of the wanted trigrams, in percent, that a window must hold to be worth a comparison.
const WORTH_COMPARING: u64 = 25;

/// The least similarity of a place that is returned, of 1000: a random place is worse than none.
const SIMILAR: u64 = 550;

/// The least similarity of a place that is returned, in percent of the best place's similarity.
const SHARE_OF_BEST: u64 = 80;

/// A search for similar places in a file whose lines are fed in order. Its memory is bounded, whatever is
/// fed.
#[derive(Debug)]
pub struct Nearest {
    near: Option<LineRange>,
    /// One for the wanted text as it is and, where something else seems to be meant, one for that.
    searches: Vec<Search>,
    /// The lines of the range that was asked for, as many as are compared.
    asked: Vec<String>,
    /// The first lines of the wanted text, without blanks at their ends.
    lines: Vec<String>,
    total: u64,
}

impl Nearest {
    /// Makes a search for `wanted`. The lines of `near` are one of the places that are compared, and come
    /// before others that are as similar; of those the one closest to `near` comes first, or without that the
    /// first in the file.
    ///
    /// Blanks, letter case and the style of quotes hardly count. A text with line numbers in front, or with
    /// its line ends spelled out, is also looked for without them. Without `near` the first and the last
    /// wanted line may be parts of lines. Lines of the wanted text after the hundredth are not compared, and
    /// of a line 200 characters are, of a single one 2000 bytes. Nothing is similar to a blank text.
    #[must_use]
    pub fn new(wanted: &str, near: Option<LineRange>) -> Self {
        let meant = if wanted.len() <= LONGEST_MEANT { cause::without_slips(wanted) } else { None };
        let searches =
            [Some(wanted), meant.as_deref()].into_iter().flatten().filter_map(Search::new).collect();
        let lines = wanted.lines().take(WANTED_LINES).map(|line| trim_blanks(line).to_owned()).collect();
        Self { near, searches, asked: Vec::new(), lines, total: 0 }
    }

    /// Takes the next line, without its terminator. Lines come in order, beginning anywhere in the file; of a
    /// line 2000 bytes are looked at.
    pub fn feed(&mut self, line: LineNumber, text: &str) {
        self.total = line.get();
        let text = head(text, LINE_BYTES);
        let is_asked = self.near.is_some_and(|near| near.contains(LineRange::new(line, 1)));
        if is_asked && self.asked.len() < ASKED_LINES {
            self.asked.push(text.to_owned());
        }
        for search in &mut self.searches {
            search.feed(line.index(), text, self.near);
        }
    }

    /// Returns the similar places, at most four that do not overlap, the most similar first; none where
    /// nothing is similar enough. A fourth one says that there may be more.
    #[must_use]
    pub fn finish(self) -> Vec<SimilarPlace> {
        let mut places: Vec<(usize, AlignedLines)> = Vec::new();
        // The asked range, as far as there are lines.
        let asked = self.near.map(|near| {
            LineRange::new(near.start(), near.count().min(self.total.saturating_sub(near.start().index())))
        });
        for (index, search) in self.searches.into_iter().enumerate() {
            let found = search.places(self.total, asked.map(|asked| (asked, self.asked.as_slice())));
            places.extend(found.into_iter().map(|place| (index, place)));
        }
        let rank = |lines: LineRange| self.near.map_or(0, |near| near.distance(lines));
        // Blanks and the like hardly count, but they decide where all else is alike.
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let exact = |place: &AlignedLines| {
            let pairs = self.lines.iter().zip(place.near.text.lines().map(trim_blanks));
            let score = |(wanted, line): (&String, &str)| {
                if wanted == line {
                    2
                } else {
                    usize::from(wanted.get(..indent(wanted)) == line.get(..indent(line)))
                }
            };
            pairs.map(score).sum::<usize>()
        };
        for (_, place) in &mut places {
            place.near.rank = (place.similarity, exact(place));
            place.near.is_asked = Some(place.near.lines) == asked;
        }
        // Of places that are as similar, those come first that the text is similar to as it was sent.
        places.sort_by_cached_key(|(index, place)| {
            let (lines, exact) = (place.near.lines, Reverse(place.near.rank.1));
            (Reverse(place.similarity), !place.near.is_asked, *index, exact, rank(lines), lines)
        });
        let floor = places.first().map_or(0, |(_, best)| best.similarity * SHARE_OF_BEST / 100).max(SIMILAR);
        let mut best: Vec<SimilarPlace> = Vec::new();
        for (_, place) in places.into_iter().filter(|(_, place)| place.similarity >= floor) {
            if best.len() <= MAX_PLACES && !best.iter().any(|other| other.lines.overlaps(place.near.lines)) {
                best.push(place.near);
            }
        }
        best
    }
}

/// The part of the wanted text that is compared.
#[derive(Debug)]
struct TargetText {
    /// Its first lines, folded; at least one.
    lines: Vec<Vec<char>>,
    /// The number of lines after those.
    more: u64,
}

impl TargetText {
    fn new(text: &str) -> Self {
        let mut rest = text.strip_suffix('\n').unwrap_or(text).split('\n');
        let heads: Vec<_> = rest.by_ref().take(WANTED_LINES).collect();
        let chars = compared_chars(heads.len());
        let lines = heads.iter().map(|line| {
            let mut folded = Vec::new();
            fold(head(line, LINE_BYTES), chars, &mut folded);
            folded
        });
        Self { lines: lines.collect(), more: rest.count() as u64 }
    }
}

/// The search for one text, as it goes through the file.
#[derive(Debug)]
struct Search {
    wanted: TargetText,
    grams: Grams<3>,
    /// The last lines that were fed, as many as a candidate may still be made of.
    recent: VecDeque<Recent>,
    /// The index of the last of them.
    last: u64,
    /// The best window so far among those that the next ones may overlap.
    pending: Option<Rank>,
    /// The best windows before that, no two of which overlap.
    candidates: Vec<Candidate>,
    /// The folded line at hand, kept for its memory.
    folded: Vec<char>,
}

#[derive(Debug, Default)]
struct Recent {
    text: String,
    /// The wanted trigrams that it holds.
    slots: Vec<u16>,
}

impl Search {
    /// Returns `None` for a blank text, which has no trigrams.
    fn new(wanted: &str) -> Option<Self> {
        let wanted = TargetText::new(wanted);
        let grams = Grams::new(wanted.lines.iter().map(Vec::as_slice));
        (grams.total > 0).then(|| Self {
            wanted,
            grams,
            recent: VecDeque::new(),
            last: 0,
            pending: None,
            candidates: Vec::new(),
            folded: Vec::new(),
        })
    }

    fn window(&self) -> usize {
        self.wanted.lines.len()
    }

    fn margin(&self) -> usize {
        if self.window() > 1 { MARGIN.min(self.window()) } else { 0 }
    }

    fn feed(&mut self, index: u64, text: &str, near: Option<LineRange>) {
        let window = self.window();
        // A pending window is settled at the latest when a line comes that is a whole window below it.
        let reach = 2 * window + self.margin();
        let mut recent =
            if self.recent.len() < reach { None } else { self.recent.pop_front() }.unwrap_or_default();
        recent.text.clear();
        recent.text.push_str(text);
        recent.slots.clear();
        fold(text, compared_chars(window), &mut self.folded);
        self.grams.enter(&self.folded, &mut recent.slots);
        self.recent.push_back(recent);
        self.last = index;
        if let Some(left) = self.recent.len().checked_sub(window + 1).and_then(|left| self.recent.get(left)) {
            self.grams.leave(&left.slots);
        }
        if self.pending.is_some_and(|pending| index.saturating_sub(pending.last) >= window as u64) {
            self.settle();
        }
        if self.grams.held * 100 < self.grams.total * WORTH_COMPARING {
            return;
        }
        let start = LineNumber::from_index(index.saturating_sub(window as u64 - 1));
        let distance = near.map_or(0, |near| near.distance(LineRange::new(start, window as u64)));
        let here = Rank { last: index, held: self.grams.held, distance };
        if self.pending.is_none_or(|pending| here.beats(pending)) {
            self.pending = Some(here);
        }
    }

    /// Keeps the pending window if it is among the best.
    fn settle(&mut self) {
        let Some(rank) = self.pending.take() else { return };
        if self.candidates.len() >= CANDIDATES {
            let worst = self
                .candidates
                .iter()
                .enumerate()
                .reduce(|worst, other| if other.1.rank.beats(worst.1.rank) { worst } else { other });
            match worst {
                Some((at, worst)) if rank.beats(worst.rank) => _ = self.candidates.remove(at),
                _ => return,
            }
        }
        let oldest = (self.last + 1).saturating_sub(self.recent.len() as u64);
        let first = rank.last.saturating_sub((self.window() - 1 + self.margin()) as u64).max(oldest);
        let end = rank.last.saturating_add(self.margin() as u64 + 1);
        let lines = (oldest..).zip(&self.recent).filter(|(index, _)| (first..end).contains(index));
        let lines = lines.map(|(_, recent)| recent.text.clone()).collect();
        self.candidates.push(Candidate { rank, first, lines });
    }

    /// Compares the candidates, and the lines of a range that was asked for, with the wanted text; the file
    /// has `total` lines.
    fn places(mut self, total: u64, asked: Option<(LineRange, &[String])>) -> Vec<AlignedLines> {
        self.settle();
        let last = self.window() - 1;
        let more = self.wanted.more;
        let mut patterns: Vec<_> = self
            .wanted
            .lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                WantedLine::new(line, asked.is_none() && (index == 0 || index == last && more == 0))
            })
            .collect();
        let mut places: Vec<AlignedLines> = self
            .candidates
            .iter()
            .filter_map(|candidate| candidate.compared(&mut patterns, more, total))
            .collect();
        if let Some((near, lines)) = asked {
            let rank = Rank { last: near.end(), held: 0, distance: 0 };
            let asked = Candidate { rank, first: near.start().index(), lines: lines.to_vec() };
            places.extend(asked.compared_whole(&mut patterns, near));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::nearest::near::{TEXT_BYTES, TEXT_LINES};

    fn search(wanted: &str, near: Option<(u64, u64)>, file: &str) -> Vec<SimilarPlace> {
        search_from(0, wanted, near, file)
    }

    /// Searches a file in which `above` lines are not at hand.
    fn search_from(above: u64, wanted: &str, near: Option<(u64, u64)>, file: &str) -> Vec<SimilarPlace> {
        let near = near.map(|(start, end)| LineRange::inclusive(start, end).unwrap());
        let mut nearest = Nearest::new(wanted, near);
        for (index, line) in (above..).zip(file.lines()) {
            nearest.feed(LineNumber::from_index(index), line);
        }
        nearest.finish()
    }

    /// Lists the places, with an arrow for each tab.
    fn check(wanted: &str, near: Option<(u64, u64)>, file: &str) -> String {
        let places = search(wanted, near, file);
        let text = places
            .iter()
            .fold(String::new(), |text, place| format!("{text}{:?}\n{}", place.lines, place.text));
        text.replace('\t', "→")
    }

    const PROGRAM: &str = "\
use std::io;

fn first(count: usize) -> usize {
\tlet mut total = 0;
\tfor index in 0..count {
\t\ttotal += index * 2;
\t}
\tprintln!(\"the total is {total}, isn't it\");
\ttotal
}

fn second(name: &str) -> io::Result<String> {
\tlet text = std::fs::read_to_string(name)?;
\tif text.is_empty() {
\t\treturn Err(io::ErrorKind::UnexpectedEof.into());
\t}
\tOk(text)
}
";

    #[test]
    fn other_indentation() {
        let wanted = "    for index in 0..count {\n        total += index * 2;\n    }\n";
        insta::assert_snapshot!(check(wanted, None, PROGRAM), @r"
        5-7
        →for index in 0..count {
        →→total += index * 2;
        →}
        ");
    }

    #[test]
    fn one_word_of_a_block() {
        let wanted = "\tlet text = std::fs::read_to_string(path)?;\n\tif text.is_empty() {\n\
            \t\treturn Err(io::ErrorKind::NotFound.into());\n\t}\n\tOk(text)\n";
        insta::assert_snapshot!(check(wanted, None, PROGRAM), @r"
        13-17
        →let text = std::fs::read_to_string(name)?;
        →if text.is_empty() {
        →→return Err(io::ErrorKind::UnexpectedEof.into());
        →}
        →Ok(text)
        ");
    }

    #[test]
    fn a_line_more_or_less() {
        let more = "\tlet mut total = 0;\n\tlet mut other = 1;\n\tfor index in 0..count {\n\
            \t\ttotal += index * 2;\n\t}\n";
        insta::assert_snapshot!(check(more, None, PROGRAM), @r"
        4-7
        →let mut total = 0;
        →for index in 0..count {
        →→total += index * 2;
        →}
        ");
        let less = "fn second(name: &str) -> io::Result<String> {\n\tif text.is_empty() {\n\
            \t\treturn Err(io::ErrorKind::UnexpectedEof.into());\n\t}\n";
        insta::assert_snapshot!(check(less, None, PROGRAM), @r"
        12-16
        fn second(name: &str) -> io::Result<String> {
        →let text = std::fs::read_to_string(name)?;
        →if text.is_empty() {
        →→return Err(io::ErrorKind::UnexpectedEof.into());
        →}
        ");
    }

    #[test]
    fn a_part_of_a_line() {
        insta::assert_snapshot!(check("“the total is {sum}, isn’t it”", None, PROGRAM), @r#"
        8-8
        →println!("the total is {total}, isn't it");
        "#);
        insta::assert_snapshot!(check("read_to_string( name )", None, PROGRAM), @r"
        13-13
        →let text = std::fs::read_to_string(name)?;
        ");
    }

    /// Lists the lines of the places.
    fn lines(places: &[SimilarPlace]) -> Vec<(u64, u64)> {
        places.iter().map(|place| (place.lines.start().get(), place.lines.end())).collect()
    }

    #[test]
    fn only_the_first_and_the_last_line_may_be_parts() {
        let long =
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma";
        let file = format!(
            "{long} so many words are wanted here\n\
             middle\n\
             but these words are wanted at an end {long}\n\
             end\n"
        );
        for (wanted, found) in [
            ("so many words are wanted here\nmiddle\n", Some((1, 2))),
            ("middle\nbut these words are wanted at an end\n", Some((2, 3))),
            ("middle\nbut these words are wanted at an end\nend\n", None),
        ] {
            assert_eq!(lines(&search(wanted, None, &file)), found.as_slice(), "{wanted}");
        }
    }

    #[test]
    fn a_sentence_is_found_at_the_end_of_a_long_line() {
        let above = (0..60).fold(String::new(), |text, n| format!("{text}word{n} "));
        let file = format!("first\n{above}The quick brown fox jumps over the dog.\n");
        assert_eq!(lines(&search("the quick brown fox jumped over the dog", None, &file)), [(2, 2)]);
    }

    #[test]
    fn a_line_at_the_end_that_is_like_nothing_belongs_to_the_place() {
        let wanted = "qqq www zzz\n\tlet text = std::fs::read_to_string(name)?;\n\tif text.is_empty() {\n";
        assert_eq!(lines(&search(wanted, None, PROGRAM)), [(12, 14)]);
        let wanted = "\tlet text = std::fs::read_to_string(name)?;\n\tif text.is_empty() {\nqqq www zzz\n";
        assert_eq!(lines(&search(wanted, None, PROGRAM)), [(13, 15)]);
    }

    #[test]
    fn a_line_at_the_end_that_was_copied_twice_stands_once() {
        let [first, last] = ["\tlet text = std::fs::read_to_string(name)?;\n", "\tif text.is_empty() {\n"];
        for wanted in [[first, first, last].concat(), [first, last, last].concat()] {
            assert_eq!(lines(&search(&wanted, None, PROGRAM)), [(13, 14)], "{wanted}");
        }
    }

    /// Of six wanted lines three are like those of the file. If they are its first, the place has no more
    /// lines; else the three above them are taken for other text.
    #[test]
    fn lines_that_are_not_at_hand_are_taken_for_other_text() {
        let file = "the fourth one\nthis is the fifth\nand number six\n";
        let wanted = "alpha gamma kap\nbeta delta lambd\neta theta mu\n".to_owned() + file;
        assert_eq!(lines(&search(&wanted, None, file)), [(1, 3)]);
        assert_eq!(lines(&search_from(100, &wanted, None, file)), []);
    }

    #[test]
    fn the_lines_that_were_asked_for_come_before_others_that_are_as_similar() {
        let file = "this is the same line\n".repeat(9);
        for start in 1..9 {
            let near = (start, start + 1);
            let places = search("this is the same lime\nthis is the same lime\n", Some(near), &file);
            assert_eq!(lines(&places)[0], near);
            assert!(places[0].is_asked() && !places[1..].iter().any(SimilarPlace::is_asked), "{start}");
        }
    }

    #[test]
    fn letter_case_and_indentation_decide_where_all_else_is_alike() {
        for (wanted, file) in [
            ("The same thing", "the same thing\nThe same thing\n"),
            ("    let value = onne;", "\tlet value = one;\n    let value = one;\n"),
            ("    Let value = one;", "\tlet value = one;\n    let value = one;\n"),
        ] {
            assert_eq!(lines(&search(wanted, None, file)), [(2, 2), (1, 1)], "{wanted}");
        }
    }

    #[test]
    fn a_place_much_less_similar_than_the_best_is_left_out() {
        let wanted = "the quick brown fox jumps over";
        let other = "the quick brown cat sleeps over\n";
        assert_eq!(lines(&search(wanted, None, other)), [(1, 1)]);
        assert_eq!(lines(&search(wanted, None, &format!("{other}{wanted}\n"))), [(2, 2)]);
    }

    #[test]
    fn a_window_is_compared_if_it_holds_a_quarter_of_the_trigrams() {
        // With the blanks around it, it has eight.
        for (line, held) in [("zz", 0), ("ab", 1), ("abc", 2), ("abcd", 3), ("abcdefgh", 8)] {
            let mut search = Search::new("abcdefgh").unwrap();
            search.feed(0, line, None);
            let expected = Some(held).filter(|held| *held >= 2);
            assert_eq!(search.pending.map(|window| window.held), expected, "{line}");
        }
    }

    #[test]
    fn a_window_is_as_far_from_the_asked_lines_as_its_lines_are() {
        let near = LineRange::inclusive(11, 12).unwrap();
        let block = ["alpha one", "beta two", "gamma three"];
        for above in 0..30 {
            let mut search = Search::new(&block.join("\n")).unwrap();
            for (index, line) in (0..).zip(std::iter::repeat_n("#", above).chain(block)) {
                search.feed(index, line, Some(near));
            }
            let lines = LineRange::new(LineNumber::from_index(above as u64), 3);
            assert_eq!(search.pending.unwrap().distance, near.distance(lines), "{above}");
        }
    }

    #[test]
    fn a_candidate_has_the_lines_of_its_window_and_around_it() {
        for (length, around) in [(1, 0), (2, 2), (5, 5), (12, 8)] {
            let block: Vec<String> = (0..length).map(|n| format!("wanted line {n} of all")).collect();
            for above in 0..30 {
                let below = 30 - above;
                let mut file: Vec<String> = (0..30).map(|n| format!("# {n}")).collect();
                file.splice(above..above, block.clone());
                let mut search = Search::new(&block.join("\n")).unwrap();
                for (index, line) in (0..).zip(&file) {
                    search.feed(index, line, None);
                }
                search.settle();
                let lines = above.saturating_sub(around)..above + length + around.min(below);
                let [found] = search.candidates.as_slice() else { panic!("{length}, {above}: {search:?}") };
                assert_eq!((found.first, found.lines.as_slice()), (lines.start as u64, &file[lines]));
            }
        }
    }

    #[test]
    fn nothing_is_better_than_anything() {
        for wanted in ["", "\n", " \n\t\n", "The quick brown fox jumps.\n", "xyz", "class Foo:\n    pass\n"] {
            assert_eq!(check(wanted, None, PROGRAM), "", "{wanted:?}");
        }
        assert_eq!(check("a", None, ""), "");
    }

    #[test]
    fn what_was_meant() {
        let escaped = "let mut total = 0;\\n\\tfor index in 0..counts {";
        insta::assert_snapshot!(check(escaped, None, PROGRAM), @r"
        4-5
        →let mut total = 0;
        →for index in 0..count {
        ");
        let guttered = "13\tlet text = std::fs::read(name)?;\n14\tif text.is_empty() {\n";
        insta::assert_snapshot!(check(guttered, None, PROGRAM), @r"
        13-14
        →let text = std::fs::read_to_string(name)?;
        →if text.is_empty() {
        ");
    }

    #[test]
    fn the_best_is_first_and_then_the_closest() {
        let file = "same thing\nother\n".repeat(50) + "same things\n" + &"same thing\nother\n".repeat(50);
        let lines = |near| {
            search("Same things", near, &file).iter().map(|place| place.lines.end()).collect::<Vec<_>>()
        };
        assert_eq!(lines(None), [101, 1, 3, 5]);
        assert_eq!(lines(Some((151, 151)))[..2], [101, 150]);
        assert_eq!(lines(Some((10, 10)))[..2], [101, 9]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn the_text_is_bounded() {
        let block = (0..300).fold(String::new(), |text, n| format!("{text}entry number {n} of the list\n"));
        let file = format!("above\n{}below\n", block.replace("entry", "item"));
        let places = search(&block, None, &file);
        assert_eq!(places[0].lines, LineRange::inclusive(2, 301).unwrap());
        assert_eq!(places[0].text.lines().count(), TEXT_LINES);
        let long = format!("a {}", "ä".repeat(5_000_000));
        let places = search(&long, None, &long);
        assert_eq!((places[0].lines.count(), places[0].text.len()), (1, TEXT_BYTES));
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn hostile_sizes() {
        let many = "x\n".repeat(100_000);
        for wanted in [many.as_str(), "x y", "x\nx\nx\n", "x\ny"] {
            assert!(search(wanted, Some((50_000, 50_000)), &many).len() <= MAX_PLACES + 1);
        }
        assert_eq!(search("x y", None, &("z".repeat(LINE_BYTES) + "\n").repeat(40)), []);
        let mut nearest = Nearest::new("x = y", None);
        nearest.feed(LineNumber::from_index(u64::MAX), "x == y");
        nearest.feed(LineNumber::FIRST, "x == y");
        _ = nearest.finish();
    }

    #[test]
    fn memory_is_bounded_whatever_is_fed() {
        let mut nearest =
            Nearest::new("one line\nanother line\na third line\n", LineRange::inclusive(1, 900));
        for index in 0..900 {
            nearest.feed(LineNumber::from_index(index), "a third line");
        }
        assert_eq!(nearest.asked.len(), ASKED_LINES);
        let [search] = nearest.searches.as_slice() else { panic!("{nearest:?}") };
        // Of three lines, with as many above; as many may have come below before it is settled.
        assert_eq!((search.recent.len(), search.candidates.len()), (9, CANDIDATES));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]

        #[test]
        fn the_windows_that_are_kept_hold_the_most(
            file in prop::collection::vec(prop::collection::vec(0..6_usize, 0..5), 0..60),
        ) {
            let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
            let new = || Search::new(&words.join(" ")).unwrap();
            let line = |chosen: &Vec<usize>| chosen.iter().map(|word| words[*word]).collect::<Vec<_>>().join(" ");
            let (mut search, mut expected) = (new(), Vec::new());
            for (index, line) in (0..).zip(file.iter().map(line)) {
                search.feed(index, &line, None);
                let mut alone = new();
                alone.feed(0, &line, None);
                expected.extend(alone.pending.map(|window| window.held));
            }
            search.settle();
            let mut kept: Vec<u64> = search.candidates.iter().map(|kept| kept.rank.held).collect();
            for held in [&mut kept, &mut expected] {
                held.sort_by_key(|held| Reverse(*held));
            }
            expected.truncate(CANDIDATES);
            prop_assert_eq!(kept, expected);
        }

        /// Words from an alphabet large enough that no two lines are alike by chance.
        #[test]
        fn a_block_with_one_slip_is_found(
            file in prop::collection::vec("( {0,8}|\t{0,2})([a-zä]{4,9}[ ._(]){3,6}", 8..60),
            place in any::<prop::sample::Index>(),
            length in 2..8_usize,
            slip in 0..5,
        ) {
            let start = place.index(file.len() - length + 1);
            let block = file[start..start + length].join("\n");
            let wanted = match slip {
                0 => block.replace([' ', '\t'], ""),
                1 => block.replacen(char::is_alphabetic, "Q", 3),
                2 => block.replace('\n', "\n    "),
                3 => block.to_uppercase(),
                _ => block.replacen('\n', "\nsome more\n", 1),
            };
            let best = search(&wanted, None, &file.join("\n")).into_iter().next();
            let expected = LineRange::new(LineNumber::from_index(start as u64), length as u64);
            prop_assert_eq!(best.map(|best| (best.lines, best.text)), Some((expected, block + "\n")));
        }

        #[test]
        fn places_are_what_stands_there(
            file in prop::collection::vec("[ab]{0,3}( [“ab]{0,3})?", 0..40),
            wanted in "([ab ]{0,3}\n?){0,8}",
            near in prop::option::of((1..50_u64, 0..50_u64)),
        ) {
            let near = near.map(|(start, more)| (start, start + more));
            let places = search(&wanted, near, &(file.join("\n") + "\n"));
            prop_assert!(places.len() <= MAX_PLACES + 1);
            for (index, place) in places.iter().enumerate() {
                let [start, end] = [place.lines.start().index(), place.lines.end()];
                let lines = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
                let there = file[lines].join("\n") + "\n";
                prop_assert!(there.contains(&place.text), "{:?} of {:?}", place.text, there);
                prop_assert!(places[..index].iter().all(|other| !other.lines.overlaps(place.lines)));
            }
        }
    }
}
