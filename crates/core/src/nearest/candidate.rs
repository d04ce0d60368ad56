//! A window that may be similar, as the first stage hands it to the second.

use std::cmp::Reverse;

/// The rank of a window before it is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    /// The index of the window's last line.
    pub(super) last: u64,
    /// The number of wanted trigrams that it holds.
    pub(super) held: u64,
    pub(super) distance: u64,
}

impl Rank {
    /// Tells whether it comes before another one: it holds more wanted trigrams, or as many and is closer.
    pub(super) fn beats(self, other: Self) -> bool {
        (self.held, Reverse(self.distance)) > (other.held, Reverse(other.distance))
    }
}

/// A window with its margins.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) rank: Rank,
    /// The index of the first of its lines.
    pub(super) first: u64,
    pub(super) lines: Vec<String>,
}
