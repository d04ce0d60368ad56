//! The question and the answer of a search, the two tiers of a match, and the blanks that the second tier
//! ignores. [`Prefilter`] scans a text for all needles at once, and tells which of them are worth a search.
//!
//! A hash of the last bytes rolls over the text (Karp and Rabin, *Efficient randomized pattern-matching
//! algorithms*, 1987). An automaton of the needles' beginnings, which was tried, took a kilobyte for each
//! needle.

use std::ops::Range;

use crate::encoding::Seam;

/// The minimum number of needles for which one pass for all is less work than a search for each.
const FEWEST: usize = 8;

/// The maximum number of bytes at the beginning of a needle that are hashed; so many distinguish most
/// needles.
const LONGEST: usize = 32;

/// The multiplier of the rolling hash; any odd number with its set bits spread out.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The beginnings of needles, by their hashes.
pub(super) struct Prefilter {
    lengths: Vec<Beginnings>,
}

/// The beginnings of one length.
struct Beginnings {
    length: usize,
    /// The hash of each beginning, with the index of its needle, sorted.
    hashes: Vec<(u64, usize)>,
    /// A bitmap that tells most absent hashes without a search in `hashes`: [`place`] says which bit a hash
    /// sets.
    bits: Vec<u64>,
    /// [`place`] shifts a mixed hash right by this number of bits, which leaves the index of its bit.
    shift: u32,
}

impl Prefilter {
    /// Makes a prefilter for these needles. Returns `None` if they are so few that each should be searched
    /// for separately.
    pub(super) fn new<'n>(needles: impl Iterator<Item = &'n [u8]>) -> Option<Self> {
        let mut of_length = [const { Vec::new() }; LONGEST.ilog2() as usize + 1];
        let mut count = 0;
        for (index, needle) in needles.enumerate() {
            // Each length of a hash costs a pass over the text, so only powers of two are used. An empty
            // needle is found nowhere, and left out.
            let power = needle.len().min(LONGEST).checked_ilog2();
            let beginning = power.and_then(|power| needle.get(..1 << power));
            let slot = power.and_then(|power| of_length.get_mut(power as usize));
            if let (Some(beginning), Some(hashes)) = (beginning, slot) {
                hashes.push((hash(beginning), index));
            }
            count += 1;
        }
        let lengths = of_length.into_iter().enumerate().filter(|(_, hashes)| !hashes.is_empty());
        let lengths = lengths.map(|(power, hashes)| Beginnings::new(1 << power, hashes)).collect();
        (count >= FEWEST).then_some(Self { lengths })
    }

    /// Marks in `found`, by their index, the needles that the text may contain; it does not contain the
    /// others. The caller passes `found` with nothing marked.
    pub(super) fn mark(&self, text: &[u8], found: &mut [bool]) {
        for beginnings in &self.lengths {
            beginnings.mark(text, found);
        }
    }
}

impl Beginnings {
    fn new(length: usize, mut hashes: Vec<(u64, usize)>) -> Self {
        hashes.sort_unstable();
        // With 16 bits or more for each hash, at most one of 16 absent hashes has its bit set, on average.
        let bits = (hashes.len() * 16).next_power_of_two().max(64);
        let shift = u64::BITS - bits.ilog2();
        let mut bits = vec![0; bits / 64];
        for (hash, _) in &hashes {
            let (word, bit) = place(*hash, shift);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self { length, hashes, bits, shift }
    }

    fn mark(&self, text: &[u8], found: &mut [bool]) {
        let Some((first, rest)) = text.split_at_checked(self.length) else { return };
        let highest = (1..self.length).fold(1, |power: u64, _| power.wrapping_mul(BASE));
        let mut rolling = hash(first);
        self.mark_one(rolling, found);
        for (leaving, entering) in text.iter().zip(rest) {
            let left = rolling.wrapping_sub(highest.wrapping_mul(u64::from(*leaving)));
            rolling = left.wrapping_mul(BASE).wrapping_add(u64::from(*entering));
            self.mark_one(rolling, found);
        }
    }

    /// Whether a beginning may have this hash: always true if one has, and false for most other hashes.
    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = place(hash, self.shift);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Marks the needles whose beginning has this hash.
    fn mark_one(&self, hash: u64, found: &mut [bool]) {
        if !self.may_have(hash) {
            return;
        }
        let from = self.hashes.partition_point(|(own, _)| *own < hash);
        let equal = self.hashes.iter().skip(from).take_while(|(own, _)| *own == hash);
        for (_, index) in equal {
            // Needles with the same hash are always marked together: if this one is marked, so are the rest.
            match found.get_mut(*index) {
                Some(found) if !*found => *found = true,
                _ => return,
            }
        }
    }
}

/// Returns the index of the bitmap's word that has the bit of a hash, and a word with only this bit set.
fn place(hash: u64, shift: u32) -> (usize, u64) {
    // The low bits of a polynomial's value depend only on the low bits of its terms, so the high bits are
    // taken after mixing.
    let first = usize::try_from(hash.wrapping_mul(BASE) >> shift).unwrap_or(usize::MAX);
    (first / 64, 1 << (first % 64))
}

/// Returns the hash of some bytes: the value of a polynomial, which can be updated as the window moves on.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash: u64, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte)))
}

/// The occurrences of a needle that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All that do not overlap, from left to right. At most this many are kept of all needles together; the
    /// rest are only counted.
    All(u64),
    /// The [`CLOSEST`] occurrences that are closest to this byte offset in the file. All are counted, also
    /// those that overlap.
    Closest(u64),
}

/// The maximum number of places that an error message names, and that [`Keep::Closest`] keeps.
pub const CLOSEST: usize = 10;

/// A text to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needle<'a> {
    /// The text, with `\n` for line ends. An empty text is found nowhere.
    pub text: &'a str,
    /// True if an occurrence must begin at the beginning of a line and end at the end of a line. The text
    /// must then end in `\n`.
    pub whole_lines: bool,
    /// The occurrences that are wanted.
    pub keep: Keep,
}

/// A place where the text stands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The byte range of the occurrence in the file.
    pub at: Range<u64>,
    /// The start and the end of `at`, each with the state of the encoding there, for fitting in new text
    /// between them.
    pub seams: (Seam, Seam),
    /// True if the end of a file without a final newline matched the line end of the text.
    pub at_end: bool,
    /// True if the file can be cut at both ends of the occurrence. False if an end lies inside a byte
    /// sequence that stands for two characters; then `at` is only approximate.
    pub editable: bool,
}

/// The result of a search for one needle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NeedleMatches {
    /// The number of occurrences, whether kept or not.
    pub count: u64,
    /// The occurrences that were wanted, in file order.
    pub places: Vec<Occurrence>,
}

/// The strictness of a match; the looser tier is the greater one.
///
/// The enum is exhaustive, since what an edit can match is a promise to clients: a third tier must not come
/// unnoticed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// The texts are equal character by character, where LF, CRLF and a classic Mac's CR count as equal.
    Exact,
    /// The texts are equal as for [`Tier::Exact`], except for spaces and tabs before line ends.
    TrailingWhitespace,
}

/// Returns a line without the spaces and tabs that end it, as [`Tier::TrailingWhitespace`] compares it.
pub(crate) fn trim_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }

    proptest! {
        #[test]
        fn those_are_marked_whose_beginning_is_there(
            text in "([ab]{0,70}|[a-z ]{30,40}\n){0,6}",
            others in prop::collection::vec("[ab]{0,40}", 8..20),
            parts in prop::collection::vec((0_usize..300, 0_usize..80), 0..20),
        ) {
            let parts = parts.iter().filter_map(|(start, length)| text.get(*start..start + length));
            let needles: Vec<&str> = parts.chain(others.iter().map(String::as_str)).collect();
            let prefilter = Prefilter::new(needles.iter().map(|needle| needle.as_bytes())).unwrap();
            let mut found = vec![false; needles.len()];
            prefilter.mark(text.as_bytes(), &mut found);
            for (needle, found) in needles.iter().zip(found) {
                let length = [32, 16, 8, 4, 2, 1].into_iter().find(|length| *length <= needle.len());
                let is_there = length.is_some_and(|length| contains(text.as_bytes(), &needle.as_bytes()[..length]));
                prop_assert_eq!(found, is_there, "{:?}", needle);
            }
        }
    }

    /// The bitmap only saves a search among the hashes, so no other test would notice if it did not work.
    #[test]
    fn of_sixteen_other_hashes_one_is_looked_for() {
        let texts: Vec<String> = (0..4096).map(|number: u64| number.wrapping_mul(BASE).to_string()).collect();
        let hashes: Vec<u64> = texts.iter().map(|text| hash(text.as_bytes())).collect();
        let (own, others) = hashes.split_at(1024);
        let beginnings = Beginnings::new(8, own.iter().copied().zip(0..).collect());
        assert!(own.iter().all(|own| beginnings.may_have(*own)));
        let looked_for = others.iter().filter(|other| beginnings.may_have(**other)).count();
        assert!((96..=288).contains(&looked_for), "{looked_for} of 3072");
    }

    #[test]
    fn few_needles_are_searched_for_one_by_one() {
        assert!(Prefilter::new([&b"a"[..]; FEWEST - 1].into_iter()).is_none());
        assert!(Prefilter::new([&b"a"[..]; FEWEST].into_iter()).is_some());
    }
}
