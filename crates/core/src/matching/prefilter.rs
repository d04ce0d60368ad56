//! Looks through a text for all needles at once: [`Prefilter`] tells which of them are worth a search.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// The fewest needles for which one pass for all is less work than a search for each.
const FEWEST: usize = 8;

/// The number of bytes of a needle that are looked for. They tell most needles apart, and bound the memory of
/// the automaton to some kilobytes a needle.
const PREFIX: usize = 32;

/// An automaton that finds the beginnings of all needles in one pass over a text.
pub(super) struct Prefilter {
    automaton: AhoCorasick,
    /// The needles that have each beginning, by their index.
    needles: Vec<Vec<usize>>,
}

impl Prefilter {
    /// Makes one for these needles; `None` where each is to be searched for by itself.
    pub(super) fn new<'n>(needles: impl Iterator<Item = &'n [u8]>) -> Option<Self> {
        let mut of_prefix: HashMap<&[u8], Vec<usize>> = HashMap::new();
        let mut count = 0;
        for (index, needle) in needles.enumerate() {
            // An empty text is found nowhere.
            if !needle.is_empty() {
                of_prefix.entry(needle.get(..PREFIX).unwrap_or(needle)).or_default().push(index);
            }
            count += 1;
        }
        if count < FEWEST {
            return None;
        }
        let (prefixes, needles): (Vec<&[u8]>, Vec<Vec<usize>>) = of_prefix.into_iter().unzip();
        let mut builder = AhoCorasick::builder();
        let automaton = builder.kind(Some(AhoCorasickKind::ContiguousNFA)).build(prefixes).ok()?;
        Some(Self { automaton, needles })
    }

    /// Marks in `found`, by their index, the needles that can be in a text; all others are not in it.
    pub(super) fn mark(&self, text: &[u8], found: &mut [bool]) {
        for hit in self.automaton.find_overlapping_iter(text) {
            for needle in self.needles.get(hit.pattern().as_usize()).into_iter().flatten() {
                if let Some(found) = found.get_mut(*needle) {
                    *found = true;
                }
            }
        }
    }
}
