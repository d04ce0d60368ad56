//! Counts how many short sequences of characters two texts have in common, while one of them is a sliding
//! window: [`Grams`].

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
