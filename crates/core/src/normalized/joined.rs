//! The search for a text whose lines are broken elsewhere.

use std::collections::VecDeque;

use crate::cause::{JoinStep, Joiner, Unbroken, is_telling, joined};
use crate::line::{LineNumber, LineRange};

/// No more places than this are kept: none of so many is certain.
const MAX_KEPT: usize = 1_000;

/// A search for whole lines that are the wanted text but for where lines are broken, and for slips.
#[derive(Debug)]
pub(super) struct JoinedSearch {
    /// The number of slips of the whole text that were undone.
    pub(super) undone: usize,
    sign: &'static str,
    wanted: Vec<u8>,
    /// For each number of matched bytes, how many of them still match if the next one does not (Knuth, Morris
    /// and Pratt 1977).
    fallback: Vec<u32>,
    matched: usize,
    joiner: Joiner,
    is_apart: bool,
    /// The number of bytes that were fed.
    fed: u64,
    /// The beginnings of the last lines, with their signs: as many as a place can have.
    begun: VecDeque<(u64, LineNumber, &'static str)>,
    pub(super) places: Vec<LineRange>,
}

impl JoinedSearch {
    /// Makes the searches for a text: one that takes signs of comments for text, and one that does not where
    /// it has any.
    pub(super) fn of(lines: &[&Unbroken], undone: usize) -> Vec<Self> {
        let ways = [Some(false), lines.iter().any(|line| line.has_sign()).then_some(true)];
        ways.into_iter().flatten().filter_map(|is_apart| Self::new(lines, undone, is_apart)).collect()
    }

    fn new(lines: &[&Unbroken], undone: usize, is_apart: bool) -> Option<Self> {
        let (sign, wanted) = joined(lines.iter().copied(), is_apart);
        if !is_telling(&String::from_utf8_lossy(&wanted)) {
            return None;
        }
        let mut fallback = Vec::with_capacity(wanted.len());
        fallback.push(0);
        let mut length = 0_u32;
        for byte in wanted.iter().skip(1) {
            while length > 0 && wanted.get(length as usize) != Some(byte) {
                length = fallback.get(length as usize - 1).copied().unwrap_or(0);
            }
            length += u32::from(wanted.get(length as usize) == Some(byte));
            fallback.push(length);
        }
        let joiner = Joiner::new(is_apart);
        let (begun, places) = (VecDeque::new(), Vec::new());
        Some(Self { undone, sign, wanted, fallback, matched: 0, joiner, is_apart, fed: 0, begun, places })
    }

    /// Takes the next line; `None` for one that is too long to be compared.
    pub(super) fn feed(&mut self, number: LineNumber, line: Option<&Unbroken>) {
        let Some(line) = line else {
            (self.matched, self.joiner) = (0, Joiner::new(self.is_apart));
            self.begun.clear();
            return;
        };
        let Self { wanted, fallback, matched, joiner, fed, .. } = self;
        let mut begins = *fed;
        let sign = joiner.add(line, |step| match step {
            JoinStep::Begin => begins = *fed,
            JoinStep::Byte(byte) => {
                *fed += 1;
                while *matched > 0 && wanted.get(*matched) != Some(&byte) {
                    *matched = fallback.get(*matched - 1).map_or(0, |length| *length as usize);
                }
                *matched += usize::from(wanted.get(*matched) == Some(&byte));
            }
        });
        let Some(sign) = sign else { return };
        self.begun.push_back((begins, number, sign));
        let Some(start) = self.fed.checked_sub(self.wanted.len() as u64) else { return };
        while self.begun.front().is_some_and(|(begins, ..)| *begins < start) {
            self.begun.pop_front();
        }
        if self.matched == self.wanted.len()
            && let Some((begins, first, sign)) = self.begun.front()
            && (*begins, *sign) == (start, self.sign)
            && self.places.len() < MAX_KEPT
        {
            self.places.extend(LineRange::between(*first, number));
        }
    }
}
