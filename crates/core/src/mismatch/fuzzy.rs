//! Finds the lines that are most like a text. A window of as many lines as the text slides down the file and
//! counts how many of the text's trigrams it holds ([`Grams`]). The best windows are aligned with the text
//! line by line, and their similarity is measured.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use super::normalize::plain;
use super::window::{Hit, LineWindow};
use crate::line::LineRange;
use crate::matching::trim_blanks;
use crate::rejection::MatchKind;

/// The number of windows that are aligned.
const CANDIDATES: usize = 16;

/// The maximum number of lines of the text that are compared. The rest of the text is assumed to follow them.
const WANTED_LINES: usize = 100;

/// The maximum number of lines above and below a window that are also aligned, since lines may have been
/// added or removed inside. It is at most the number of lines of the text, and 0 for a single line.
const MARGIN: usize = 8;

/// The share of the text's trigrams, in percent, that a window must hold to be aligned.
const WORTH_COMPARING: u64 = 25;

/// The maximum number of characters of a line that are compared, and the maximum for a text of a single line,
/// which may be a paragraph. No more bytes of any line are read than the latter.
const LINE_CHARS: usize = 200;
const SINGLE_LINE: usize = 2000;

/// The minimum similarity, out of 1000, of two lines that are paired.
const SIMILAR_LINES: u64 = 400;

/// The minimum similarity of the first and of the last line if they are certainly meant.
const SIMILAR_ENDS: u64 = 500;

/// The minimum similarity of a place that is returned: a random place is worse than none.
const SIMILAR: u64 = 550;

/// A line as it is compared. Its weight is one more than the number of its letters and digits, since other
/// characters distinguish lines badly.
struct Line {
    chars: Vec<char>,
    weight: u64,
}

impl Line {
    /// Takes at most `most` characters, in lower case, with each run of whitespace as one space. A space
    /// begins and ends the result.
    fn new(line: &str, most: usize) -> Self {
        let head = line.get(..line.floor_char_boundary(SINGLE_LINE)).unwrap_or(line);
        let mut chars = vec![' '];
        for c in plain(head).chars().flat_map(char::to_lowercase).map(|c| if c == '"' { '\'' } else { c }) {
            if chars.len() > most {
                break;
            }
            if !c.is_whitespace() {
                chars.push(c);
            } else if chars.last() != Some(&' ') {
                chars.push(' ');
            }
        }
        if chars.last() != Some(&' ') {
            chars.push(' ');
        }
        let weight = 1 + chars.iter().filter(|c| c.is_alphanumeric()).count() as u64;
        Self { chars, weight }
    }
}

/// A line of the text, ready to be compared.
struct WantedLine<'a> {
    raw: &'a str,
    line: Line,
    grams: Grams<2>,
}

impl WantedLine<'_> {
    /// Returns how similar another line is, out of 1000.
    fn similarity(&mut self, other: &Line) -> u64 {
        let (a, b) = (self.line.chars.len() as u64, other.chars.len() as u64);
        if self.line.chars == other.chars {
            1000
        } else if 2000 * a.min(b) < SIMILAR_LINES * (a + b) {
            // The common part is at most the shorter line, which is too short.
            0
        } else {
            self.grams.dice(&other.chars)
        }
    }
}

/// The index of a line of the text, the index of a line of the file, and their similarity.
type Pair = (usize, usize, u64);

/// Finds the lines that are most like `text`. The named lines are always measured, too, without moving their
/// ends.
pub(super) fn similar(window: &LineWindow, text: &[&str], named: Option<LineRange>) -> Vec<Hit> {
    let most = if text.len() == 1 { SINGLE_LINE } else { LINE_CHARS };
    let new = |raw| {
        let line = Line::new(raw, most);
        WantedLine { raw, grams: Grams::new([line.chars.as_slice()]), line }
    };
    let mut wanted: Vec<WantedLine<'_>> = text.iter().copied().take(WANTED_LINES).map(new).collect();
    let count = wanted.len();
    let margin = if count > 1 { MARGIN.min(count) } else { 0 };
    let mut hits: Vec<Hit> = Vec::new();
    for last in candidates(window, &wanted, named, most) {
        let region = (last + 1).saturating_sub(count + margin)..(last + 1 + margin).min(window.len());
        hits.extend(aligned_place(window, &mut wanted, region, most, text.len() - count));
    }
    if let Some(named) = named {
        let lines = window.indices(named);
        let region = lines.start..lines.end.min(lines.start.saturating_add(2 * WANTED_LINES));
        let own: Vec<Line> = window.lines(region.clone()).map(|line| Line::new(line, most)).collect();
        let pairs = aligned(&mut wanted, &own);
        let (similarity, exact) = measured(window, &wanted, &pairs, region.start, &own);
        hits.push(Hit { lines: named, how: MatchKind::Fuzzy, is_sure: true, similarity, exact });
    }
    hits.retain(|hit| hit.similarity >= SIMILAR);
    hits
}

/// Returns the indices of the last lines of the windows that hold the most trigrams, best first. The windows
/// do not overlap.
fn candidates(
    window: &LineWindow,
    wanted: &[WantedLine<'_>],
    named: Option<LineRange>,
    most: usize,
) -> Vec<usize> {
    let mut grams = Grams::<3>::new(wanted.iter().map(|wanted| wanted.line.chars.as_slice()));
    let count = wanted.len();
    let mut held: VecDeque<Vec<u16>> = VecDeque::new();
    let mut best: Vec<(Reverse<u64>, usize, usize)> = Vec::new();
    let mut pending: Option<(Reverse<u64>, usize, usize)> = None;
    for index in 0..if grams.total > 0 { window.len() } else { 0 } {
        let mut slots = Vec::new();
        grams.enter(&Line::new(window.line(index), most).chars, &mut slots);
        held.push_back(slots);
        if held.len() > count {
            held.pop_front().iter().for_each(|slots| grams.leave(slots));
        }
        if let Some(settled) = pending.filter(|(.., last)| index - last >= count) {
            best.push(settled);
            pending = None;
            if best.len() > 64 * CANDIDATES {
                best.sort_unstable();
                best.truncate(CANDIDATES);
            }
        }
        if grams.held * 100 >= grams.total * WORTH_COMPARING {
            let far = named.map_or(0, |named| window.indices(named).end.abs_diff(index + 1));
            let here = (Reverse(grams.held), far, index);
            pending = Some(pending.map_or(here, |pending| pending.min(here)));
        }
    }
    best.extend(pending);
    best.sort_unstable();
    best.into_iter().take(CANDIDATES).map(|(.., last)| last).collect()
}

/// Aligns the lines of a region with the text, and measures those that belong to the place. Lines of the text
/// above the first pair and below the last pair are assumed to stand there, changed beyond recognition.
/// `more` is the number of lines of the text that are not compared. Returns `None` if no lines pair.
fn aligned_place(
    window: &LineWindow,
    wanted: &mut [WantedLine<'_>],
    region: Range<usize>,
    most: usize,
    more: usize,
) -> Option<Hit> {
    let line = |text| Line::new(text, most);
    let pairs = aligned(wanted, &window.lines(region.clone()).map(line).collect::<Vec<_>>());
    let (first, last) = (*pairs.first()?, *pairs.last()?);
    let (above, below) = (first.0, wanted.len() - 1 - last.0);
    let lines =
        (region.start + first.1).saturating_sub(above)..(region.start + last.1 + 1 + below).min(window.len());
    let own: Vec<Line> = window.lines(lines.clone()).map(line).collect();
    let pairs: Vec<Pair> =
        pairs.into_iter().map(|(at, here, like)| (at, region.start + here - lines.start, like)).collect();
    let (similarity, exact) = measured(window, wanted, &pairs, lines.start, &own);
    // The text may begin or end inside a line.
    let [head, tail] = [wanted.first()?, wanted.last()?].map(|wanted| wanted.raw.trim());
    let [head_there, tail_there] = [lines.start, lines.end - 1].map(|index| window.line(index).trim());
    let is_end = |missing: usize, like: u64, own: &str, is_cut: bool| {
        missing == 0 && like >= SIMILAR_ENDS || missing <= 1 && is_cut && own.contains(char::is_alphanumeric)
    };
    // A place with far more lines than the text is hardly all meant. If the text repeats a line, perhaps by a
    // copying error, the file may have it once.
    let is_twice =
        |pair: &[WantedLine<'_>]| matches!(pair, [a, b] if a.raw == b.raw && !a.raw.trim().is_empty());
    let most_lines = if wanted.windows(2).any(is_twice) { wanted.len() - 1 } else { 2 * wanted.len() };
    let is_sure = more == 0
        && lines.len() <= most_lines
        && is_end(above, first.2, head, head_there.ends_with(head))
        && is_end(below, last.2, tail, tail_there.starts_with(tail));
    let lines = window.numbers(&(lines.start..(lines.end + more).min(window.len())));
    Some(Hit { lines, how: MatchKind::Fuzzy, is_sure, similarity, exact })
}

/// Measures `lines`, which begin at the index `start` of the window. Returns their similarity, of 1000 (the
/// Dice coefficient of the pairs), and the value of [`Hit::exact`].
fn measured(
    window: &LineWindow,
    wanted: &[WantedLine<'_>],
    pairs: &[Pair],
    start: usize,
    lines: &[Line],
) -> (u64, usize) {
    let weights = wanted.iter().map(|wanted| wanted.line.weight).chain(lines.iter().map(|line| line.weight));
    let all: u64 = weights.sum();
    let (mut common, mut exact) = (0, 0);
    for (at, here, similarity) in pairs {
        let Some((wanted, line)) = wanted.get(*at).zip(lines.get(*here)) else { continue };
        common += similarity * (wanted.line.weight + line.weight);
        let [own, there] = [wanted.raw, window.line(start + here)].map(trim_blanks);
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let is_indented = own.get(..indent(own)) == there.get(..indent(there));
        exact += if own == there { 2 } else { usize::from(is_indented) };
    }
    (common / all.max(1), exact)
}

/// Pairs lines of the text with lines of the file, both in order: global alignment (Needleman and Wunsch
/// 1970), except that unpaired lines above the first pair and below the last one cost nothing.
fn aligned(wanted: &mut [WantedLine<'_>], lines: &[Line]) -> Vec<Pair> {
    #[derive(Clone, Copy, Default)]
    enum Move {
        #[default]
        Above,
        Left,
        Pair(u64),
    }
    // The last row of the table, which has a row for each wanted line, and a column for each line after one
    // for "no line". `moves` lacks that column, and has no row for "no wanted line".
    let mut row = vec![0_i64; lines.len() + 1];
    let mut moves: Vec<Vec<Move>> = Vec::with_capacity(wanted.len());
    let count = wanted.len();
    for (index, wanted) in wanted.iter_mut().enumerate() {
        let mut next = vec![0_i64];
        let mut moves_of_row = Vec::with_capacity(lines.len());
        let mut left = 0;
        for ((line, &diagonal), &above) in lines.iter().zip(&row).zip(row.iter().skip(1)) {
            let mut best = (above, Move::Above);
            let similarity = wanted.similarity(line);
            if similarity >= SIMILAR_LINES {
                let gain = (similarity * (wanted.line.weight + line.weight)).cast_signed();
                if diagonal + gain >= best.0 {
                    best = (diagonal + gain, Move::Pair(similarity));
                }
            }
            // An unpaired line between two pairs costs half of what it would be worth.
            let skip = if index + 1 == count { 0 } else { (line.weight * 500).cast_signed() };
            if left - skip > best.0 {
                best = (left - skip, Move::Left);
            }
            left = best.0;
            next.push(best.0);
            moves_of_row.push(best.1);
        }
        row = next;
        moves.push(moves_of_row);
    }
    let mut pairs = Vec::new();
    let (mut at, mut here) = (wanted.len(), lines.len());
    while at > 0 && here > 0 {
        match moves.get(at - 1).and_then(|moves| moves.get(here - 1)).copied().unwrap_or_default() {
            Move::Above => at -= 1,
            Move::Left => here -= 1,
            Move::Pair(similarity) => {
                (at, here) = (at - 1, here - 1);
                pairs.push((at, here, similarity));
            }
        }
    }
    pairs.reverse();
    pairs
}

/// The multiset of the sequences of `N` characters (at most 3) in a text, and how many of them another text,
/// the window, holds.
///
/// Two sequences with the same hash count as equal; texts can thus look a little more similar than they are.
#[derive(Debug)]
pub(super) struct Grams<const N: usize> {
    /// For each hash, the number of its sequences in the wanted text, and in the window.
    slots: Vec<(u16, u16)>,
    /// The bits by which a 64-bit hash is shifted to make it an index.
    shift: u32,
    /// The number of sequences in the wanted text.
    pub(super) total: u64,
    /// The number of those sequences that the window holds.
    pub(super) held: u64,
}

impl<const N: usize> Grams<N> {
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a [char]> + Clone) -> Self {
        let count: usize = texts.clone().into_iter().map(<[char]>::len).sum();
        let bits = (count * 4).next_power_of_two().clamp(1 << 11, 1 << 15).trailing_zeros();
        let mut grams = Self { slots: vec![(0, 0); 1 << bits], shift: 64 - bits, total: 0, held: 0 };
        for text in texts {
            for slot in slots::<N>(text, grams.shift) {
                if let Some((wanted, _)) = grams.slots.get_mut(usize::from(slot)) {
                    *wanted += 1;
                    grams.total += 1;
                }
            }
        }
        grams
    }

    /// Adds the sequences of `text` to the window, and appends the hashes of those that are wanted to
    /// `entered`.
    pub(super) fn enter(&mut self, text: &[char], entered: &mut Vec<u16>) {
        for slot in slots::<N>(text, self.shift) {
            if let Some((wanted, there)) =
                self.slots.get_mut(usize::from(slot)).filter(|(wanted, _)| *wanted > 0)
            {
                self.held += u64::from(there < wanted);
                *there += 1;
                entered.push(slot);
            }
        }
    }

    /// Removes sequences from the window: `entered` has the hashes that [`Self::enter`] appended.
    pub(super) fn leave(&mut self, entered: &[u16]) {
        for slot in entered {
            if let Some((wanted, there)) =
                self.slots.get_mut(usize::from(*slot)).filter(|(wanted, _)| *wanted > 0)
            {
                self.held -= u64::from(there <= wanted);
                *there -= 1;
            }
        }
    }

    /// Returns how similar `text` is, out of 1000: twice the number of common sequences, divided by the
    /// number of sequences of both texts (Dice coefficient). The window must be empty.
    pub(super) fn dice(&mut self, text: &[char]) -> u64 {
        let mut entered = Vec::new();
        self.enter(text, &mut entered);
        let held = self.held;
        self.leave(&entered);
        let all = self.total + text.len().saturating_sub(N - 1) as u64;
        2000 * held / all.max(1)
    }
}

/// Iterates over the hashes, below 2¹⁵, of the sequences of `N` characters in `text`.
fn slots<const N: usize>(text: &[char], shift: u32) -> impl Iterator<Item = u16> + '_ {
    /// 2⁶⁴ divided by the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    // Each character takes 21 bits, enough for any code point.
    let mask = (1 << (21 * N)) - 1;
    let mut key = 0;
    let keys = text.iter().map(move |c| {
        key = (key << 21 | u64::from(u32::from(*c))) & mask;
        key
    });
    keys.skip(N - 1).map(move |key| u16::try_from(key.wrapping_mul(GOLDEN) >> shift).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(line: &str) -> WantedLine<'_> {
        let compared = Line::new(line, SINGLE_LINE);
        WantedLine { raw: line, grams: Grams::new([compared.chars.as_slice()]), line: compared }
    }

    #[test]
    fn so_many_characters_are_compared_and_the_blanks_around_them() {
        for (line, most, expected) in [
            ("abcdef", 4, " abcd "),
            ("abcd", 4, " abcd "),
            ("  ab \t cdef", 4, " ab c "),
            ("A\u{2014}\u{201c}Ä\"", 9, " a-'ä' "),
            ("", 4, " "),
        ] {
            assert_eq!(Line::new(line, most).chars.iter().collect::<String>(), expected, "{line:?}, {most}");
        }
    }

    /// Returns the maximum worth of pairs of wanted lines from index `from.0` on with lines from index
    /// `from.1` on, by trying all pairs. Lines between two pairs cost `skips`.
    fn best_worth(gains: &[Vec<Option<i64>>], skips: &[i64], from: (usize, usize), is_first: bool) -> i64 {
        let mut best = 0;
        for (at_wanted, gains_of_line) in gains.iter().enumerate().skip(from.0) {
            for (at, gain) in gains_of_line.iter().enumerate().skip(from.1) {
                let Some(gain) = gain else { continue };
                let skipped = if is_first { 0 } else { skips[from.1..at].iter().sum() };
                let more = best_worth(gains, skips, (at_wanted + 1, at + 1), false);
                best = best.max(gain - skipped + more);
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 96 }))]

        #[test]
        fn no_other_pairs_in_order_have_more_in_common(
            own in prop::collection::vec("(alp|bet|gam)( (alp|bet|gam)){0,3}", 1..5),
            lines in prop::collection::vec("(alp|bet|gam)( (alp|bet|gam)){0,3}|[}]", 0..7),
        ) {
            let mut own: Vec<WantedLine<'_>> = own.iter().map(|line| wanted(line)).collect();
            let lines: Vec<Line> = lines.iter().map(|line| Line::new(line, SINGLE_LINE)).collect();
            let gains: Vec<Vec<Option<i64>>> = own
                .iter_mut()
                .map(|wanted| {
                    let gain = |line: &Line| {
                        let similarity = wanted.similarity(line);
                        let gain = (similarity * (wanted.line.weight + line.weight)).cast_signed();
                        (similarity >= SIMILAR_LINES).then_some(gain)
                    };
                    lines.iter().map(gain).collect()
                })
                .collect();
            let skips: Vec<i64> = lines.iter().map(|line| 500 * line.weight.cast_signed()).collect();
            let pairs = aligned(&mut own, &lines);
            let mut worth = 0;
            for (index, (at_wanted, at, _)) in pairs.iter().enumerate() {
                worth += gains[*at_wanted][*at].unwrap();
                if let Some((wanted_before, before, _)) = index.checked_sub(1).map(|before| pairs[before]) {
                    prop_assert!(wanted_before < *at_wanted && before < *at);
                    worth -= skips[before + 1..*at].iter().sum::<i64>();
                }
            }
            prop_assert_eq!(worth, best_worth(&gains, &skips, (0, 0), true));
        }
    }
}
