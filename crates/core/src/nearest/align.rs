//! The second stage: aligns a window's lines with the wanted ones, and measures how similar they are.

use super::candidate::Candidate;
use super::fold::{compared_chars, fold};
use super::grams::Grams;
use super::near::SimilarPlace;
use crate::line::{LineNumber, LineRange};

/// The least similarity of lines that are aligned with each other, of 1000.
const SIMILAR_LINES: u64 = 400;

/// The least similarity of a part of a line that is aligned with a wanted one, of 1000. Some part of a long
/// line is a little like anything.
const SIMILAR_PARTS: u64 = 650;

/// A wanted line of fewer characters is like some part of a line by chance, so that the part must be more
/// similar.
const SHORT_PART: usize = 8;

/// The least similarity of a part of a line to a line as short as that, of 1000.
const SIMILAR_SHORT_PARTS: u64 = 800;

/// The weight of the similarity of a part of a line, in percent of that of a whole line.
const PART: u64 = 95;

/// The lines of a candidate that are similar to the wanted ones.
pub(super) struct AlignedLines {
    /// Their similarity, of 1000.
    pub(super) similarity: u64,
    pub(super) near: SimilarPlace,
}

/// The similarity of a line to a wanted one, of 1000, and the weight of the part of it that was compared.
#[derive(Clone, Copy, Default)]
struct Likeness {
    similarity: u64,
    compared: u64,
}

impl Likeness {
    /// Returns how much the two lines have in common, where the wanted one has the weight `wanted`.
    fn gain(self, wanted: u64) -> u64 {
        self.similarity * (wanted + self.compared)
    }
}

/// A folded line and how much it counts: one more than its letters and digits, because other characters tell
/// lines apart badly.
struct Line {
    chars: Vec<char>,
    weight: u64,
}

impl Line {
    fn new(chars: Vec<char>) -> Self {
        let weight = 1 + chars.iter().filter(|c| c.is_alphanumeric()).count() as u64;
        Self { chars, weight }
    }
}

impl Candidate {
    /// Aligns the lines with the wanted ones in order (global alignment, Needleman and Wunsch 1970, where
    /// lines above and below cost nothing) and measures the aligned ones by the Dice coefficient.
    pub(super) fn compared(&self, wanted: &mut [WantedLine], more: u64, total: u64) -> Option<AlignedLines> {
        let folded = self.folded(wanted.len());
        let pairs = aligned(wanted, &folded);
        let ((first_wanted, first, _), (last_wanted, last, _)) = (*pairs.first()?, *pairs.last()?);
        // Wanted lines above the first pair and below the last one are assumed to stand there, changed beyond
        // recognition. Not so those that are there twice: a line that was copied twice by mistake stands
        // once.
        let above = wanted.windows(2).take(first_wanted).filter(|pair| !are_same(pair)).count();
        let below = wanted.windows(2).skip(last_wanted).filter(|pair| !are_same(pair)).count();
        let start = first.saturating_sub(above);
        let end = last.saturating_add(below + 1);
        let known = end.min(folded.len());
        // Lines of the place that are not at hand are taken for as much other text as is wanted there.
        let first_line = self.first.saturating_sub(above.saturating_sub(first) as u64);
        let unknown_above = usize::try_from(self.first - first_line).unwrap_or(0);
        let first_line = first_line.saturating_add(start as u64);
        let until = self.first.saturating_add(end as u64).min(total);
        let unknown_below =
            usize::try_from(until.saturating_sub(self.first.saturating_add(known as u64))).unwrap_or(0);
        let weight = |lines: &[WantedLine]| lines.iter().map(|pattern| pattern.line.weight).sum::<u64>();
        let unknown = weight(wanted.get(..unknown_above).unwrap_or_default())
            + weight(wanted.get(wanted.len().saturating_sub(unknown_below)..).unwrap_or_default());
        let similarity = similarity(wanted, folded.get(start..known)?, start, unknown, pairs)?;

        let count =
            until.saturating_sub(first_line).saturating_add(more).min(total.saturating_sub(first_line));
        let lines = LineRange::new(LineNumber::from_index(first_line), count);
        let near = SimilarPlace::new(lines, self.lines.get(start..known)?);
        Some(AlignedLines { similarity, near })
    }

    /// Measures all of the lines, whether or not the first and the last are like a wanted one. They are those
    /// of `lines`, of which not all need be known.
    pub(super) fn compared_whole(&self, wanted: &mut [WantedLine], lines: LineRange) -> Option<AlignedLines> {
        let folded = self.folded(wanted.len());
        let pairs = aligned(wanted, &folded);
        let similarity = similarity(wanted, &folded, 0, 0, pairs)?;
        Some(AlignedLines { similarity, near: SimilarPlace::new(lines, &self.lines) })
    }

    fn folded(&self, wanted: usize) -> Vec<Line> {
        let chars = compared_chars(wanted);
        let fold_line = |line: &String| {
            let mut folded = Vec::new();
            fold(line, chars, &mut folded);
            Line::new(folded)
        };
        self.lines.iter().map(fold_line).collect()
    }
}

fn are_same(pair: &[WantedLine]) -> bool {
    matches!(pair, [one, next] if one.line.chars == next.line.chars)
}

/// Returns how similar `lines`, the first of which has the index `start` in the pairs, are to the wanted
/// ones, of 1000. Beside them there is other text of the weight `more`.
fn similarity(
    wanted: &[WantedLine],
    lines: &[Line],
    start: usize,
    more: u64,
    pairs: Vec<(usize, usize, Likeness)>,
) -> Option<u64> {
    let mut common = 0;
    let mut all: u64 = more + wanted.iter().map(|pattern| pattern.line.weight).sum::<u64>();
    all += lines.iter().map(|line| line.weight).sum::<u64>();
    for (at_wanted, at, likeness) in pairs {
        common += likeness.gain(wanted.get(at_wanted)?.line.weight);
        let paired = lines.get(at.checked_sub(start)?)?;
        all = (all + likeness.compared).saturating_sub(paired.weight);
    }
    Some(common / all.max(1))
}

/// Pairs wanted lines with `lines`, both in order, and returns the indices and the likeness of each pair.
fn aligned(wanted: &mut [WantedLine], lines: &[Line]) -> Vec<(usize, usize, Likeness)> {
    #[derive(Clone, Copy, Default)]
    enum Step {
        #[default]
        Above,
        Left,
        Pair(Likeness),
    }
    // A row for each wanted line, with a column for no line in front. `steps` has neither that column nor a
    // row for no wanted line.
    let mut row = vec![0_i64; lines.len() + 1];
    let mut steps: Vec<Vec<Step>> = Vec::with_capacity(wanted.len());
    let count = wanted.len();
    for (index, pattern) in wanted.iter_mut().enumerate() {
        let mut next = vec![0_i64];
        let mut steps_of_row = Vec::with_capacity(lines.len());
        let mut left = 0;
        for ((line, &diagonal), &above) in lines.iter().zip(&row).zip(row.iter().skip(1)) {
            let mut best = (above, Step::Above);
            let likeness = pattern.likeness(line);
            if likeness.similarity >= SIMILAR_LINES {
                let gain = i64::try_from(likeness.gain(pattern.line.weight)).unwrap_or(0);
                if diagonal + gain >= best.0 {
                    best = (diagonal + gain, Step::Pair(likeness));
                }
            }
            // An unpaired line in the middle costs half of what it would be worth.
            let skip = if index + 1 == count { 0 } else { i64::try_from(line.weight * 500).unwrap_or(0) };
            if left - skip > best.0 {
                best = (left - skip, Step::Left);
            }
            left = best.0;
            next.push(best.0);
            steps_of_row.push(best.1);
        }
        row = next;
        steps.push(steps_of_row);
    }
    let mut pairs = Vec::new();
    let (mut at_wanted, mut at) = (wanted.len(), lines.len());
    while at_wanted > 0 && at > 0 {
        match steps.get(at_wanted - 1).and_then(|steps| steps.get(at - 1)).copied().unwrap_or_default() {
            Step::Above => at_wanted -= 1,
            Step::Left => at -= 1,
            Step::Pair(likeness) => {
                (at_wanted, at) = (at_wanted - 1, at - 1);
                pairs.push((at_wanted, at, likeness));
            }
        }
    }
    pairs.reverse();
    pairs
}

/// A wanted line, ready to be compared.
pub(super) struct WantedLine {
    line: Line,
    whole: Grams<2>,
    /// The bigrams without the blanks around the line, where it may match a part of a line.
    part: Option<Grams<2>>,
}

impl WantedLine {
    pub(super) fn new(line: &[char], may_be_part: bool) -> Self {
        let inner = line.strip_prefix(&[' ']).and_then(|line| line.strip_suffix(&[' '])).unwrap_or_default();
        Self {
            line: Line::new(line.to_vec()),
            whole: Grams::new([line]),
            part: (may_be_part && inner.len() > 1).then(|| Grams::sparse(inner)),
        }
    }

    /// Returns how similar `other` is to the wanted line, or the most similar part of it that is as long.
    fn likeness(&mut self, other: &Line) -> Likeness {
        if self.line.chars == other.chars {
            return Likeness { similarity: 1000, compared: other.weight };
        }
        let mut whole = Likeness { similarity: 0, compared: other.weight };
        let (short, long) =
            (self.line.chars.len().min(other.chars.len()), self.line.chars.len().max(other.chars.len()));
        // The lines cannot have more in common than the shorter one has.
        if 2000 * short as u64 >= SIMILAR_LINES * (short + long) as u64 {
            whole.similarity = self.whole.dice(&other.chars);
        }
        let Some(part) = self.part.as_mut().filter(|_| self.line.chars.len() < other.chars.len()) else {
            return whole;
        };
        let part =
            Likeness { similarity: part.best_part(&other.chars) * PART / 100, compared: self.line.weight };
        // Two of the characters are the blanks around it.
        let is_short = self.line.chars.len() < SHORT_PART + 2;
        let least = if is_short { SIMILAR_SHORT_PARTS } else { SIMILAR_PARTS };
        if part.similarity >= whole.similarity.max(least) { part } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(line: &str) -> Vec<char> {
        let mut folded = Vec::new();
        fold(line, compared_chars(1), &mut folded);
        folded
    }

    fn likeness(wanted: &str, line: &str, may_be_part: bool) -> (u64, u64) {
        let likeness = WantedLine::new(&folded(wanted), may_be_part).likeness(&Line::new(folded(line)));
        (likeness.similarity, likeness.compared)
    }

    #[test]
    fn a_part_of_a_line_weighs_less_than_a_whole_line() {
        let wanted = "the total is one";
        assert_eq!(likeness(wanted, "The total is one", true), (1000, 14));
        assert_eq!(likeness(wanted, "here the total is one of the longest lines", true), (950, 14));
        assert!(likeness(wanted, "here the total is one of the longest lines", false).0 < 700);
    }

    #[test]
    fn a_line_as_long_as_the_wanted_one_has_no_part_that_is_like_it() {
        let (wanted, line) = ("abcdefghijklmn", "xbcdefghijklmn");
        assert_eq!(likeness(wanted, line, true), likeness(wanted, line, false));
    }

    /// The parts stand in a line that is much longer.
    #[test]
    fn the_part_of_a_line_must_be_more_like_a_short_text() {
        let (alphabet, gap) = ("abcdefghijklmnopqrstuvwxyz0123456789", "_".repeat(60));
        for (wanted, part, similarity) in [
            ("abcdefg", "abcdefg", Some(950)),
            // 5 of 6 pairs of characters.
            ("abcdefg", "abcdefx", None),
            // 5 of 7.
            ("abcdefgh", "abcxefgh", Some(678)),
            // 4 of 7.
            ("abcdefgh", "abcxefgx", None),
            // 24 of 35, and 23.
            (alphabet, &alphabet[..25], Some(SIMILAR_PARTS)),
            (alphabet, &alphabet[..24], None),
        ] {
            let line = gap.clone() + part + &gap;
            let expected = similarity.map_or(likeness(wanted, &line, false), |similarity| {
                (similarity, Line::new(folded(wanted)).weight)
            });
            assert_eq!(likeness(wanted, &line, true), expected, "{wanted}, {part}");
        }
    }

    /// Returns the most that pairs can be worth where the wanted line `from.0` and the line `from.1` are the
    /// first that may be in one, by trying them all. Lines between two pairs cost `skips`.
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
            wanted in prop::collection::vec("(alp|bet|gam)( (alp|bet|gam)){0,3}", 1..5),
            lines in prop::collection::vec("(alp|bet|gam)( (alp|bet|gam)){0,3}|[}]", 0..7),
        ) {
            let last = wanted.len() - 1;
            let mut wanted: Vec<WantedLine> = (0..)
                .zip(&wanted)
                .map(|(index, line)| WantedLine::new(&folded(line), index == 0 || index == last))
                .collect();
            let lines: Vec<Line> = lines.iter().map(|line| Line::new(folded(line))).collect();
            let gains: Vec<Vec<Option<i64>>> = wanted
                .iter_mut()
                .map(|wanted| {
                    let weight = wanted.line.weight;
                    let likenesses = lines.iter().map(|line| wanted.likeness(line));
                    likenesses
                        .map(|like| (like.similarity >= SIMILAR_LINES).then(|| like.gain(weight).cast_signed()))
                        .collect()
                })
                .collect();
            let skips: Vec<i64> = lines.iter().map(|line| 500 * line.weight.cast_signed()).collect();
            let pairs = aligned(&mut wanted, &lines);
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
