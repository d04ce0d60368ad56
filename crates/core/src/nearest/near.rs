//! A place that is similar, as it is handed out.

use super::fold::head;
use crate::line::LineRange;

/// The most lines of the text of a place.
pub(super) const TEXT_LINES: usize = 20;

/// The most bytes of the text of a place.
pub(super) const TEXT_BYTES: usize = 2000;

/// A place that is similar to the wanted text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SimilarPlace {
    /// Its lines.
    pub lines: LineRange,
    /// Their text, each line ended by `\n`: at most 20 lines and 2000 bytes of UTF-8, and of each line what
    /// was fed, at most 2000 bytes. No line is missing if it ends in `\n` and has as many lines as
    /// [`SimilarPlace::lines`]; lines at either end may be, where nothing in them is like what is wanted.
    pub text: String,
    /// Its similarity, of 1000, and the number of lines that are as they are wanted.
    pub(super) rank: (u64, usize),
    /// Whether these are the lines that the request names.
    pub(super) is_asked: bool,
}

/// The least similarity, of 1000, of a place that differs by a typo or two.
const CLOSE: u64 = 800;

/// A place of less similarity than this, of 1000, has about as much other text as wanted text.
const VAGUE: u64 = 750;

/// Places whose similarities differ by no more than this, of 1000, are tied.
const TIED: u64 = 40;

impl SimilarPlace {
    /// Makes the place of `lines`, of which `texts` are the texts.
    pub(super) fn new(lines: LineRange, texts: &[String]) -> Self {
        Self { lines, text: excerpt(texts), rank: (0, 0), is_asked: false }
    }

    /// Tells whether it is nearly the wanted text.
    pub(crate) fn is_close(&self) -> bool {
        self.rank.0 >= CLOSE
    }

    /// Tells whether it is the range that the request names.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Tells whether so much of it is other text that another place, or none, may have been meant.
    pub(crate) fn is_vague(&self) -> bool {
        self.rank.0 < VAGUE
    }

    /// Tells whether either of two places may be meant. False if one of them was asked for.
    #[must_use]
    pub fn is_tied_with(&self, other: &Self) -> bool {
        let is_asked = self.is_asked || other.is_asked;
        let is_as_similar = self.rank.0.abs_diff(other.rank.0) <= TIED && self.rank.1 == other.rank.1;
        !is_asked && (is_as_similar || !self.is_close())
    }
}

fn excerpt(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines.iter().take(TEXT_LINES) {
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(head(&text, TEXT_BYTES).len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(similarity: u64, alike: usize, is_asked: bool) -> SimilarPlace {
        let lines = LineRange::inclusive(1, 1).unwrap();
        SimilarPlace { rank: (similarity, alike), is_asked, ..SimilarPlace::new(lines, &[]) }
    }

    #[test]
    fn a_place_is_close_or_vague_by_its_similarity() {
        for (similarity, is_close, is_vague) in [
            (1000, true, false),
            (800, true, false),
            (799, false, false),
            (750, false, false),
            (749, false, true),
        ] {
            let place = place(similarity, 0, false);
            assert_eq!((place.is_close(), place.is_vague()), (is_close, is_vague), "{similarity}");
        }
    }

    #[test]
    fn either_of_two_places_is_meant_where_they_are_as_similar_or_none_is_close() {
        let best = place(900, 2, false);
        for (other, is_tied) in [
            (place(900, 2, false), true),
            (place(860, 2, false), true),
            (place(859, 2, false), false),
            (place(900, 1, false), false),
            (place(900, 2, true), false),
        ] {
            assert_eq!(best.is_tied_with(&other), is_tied, "{other:?}");
        }
        assert!(place(790, 2, false).is_tied_with(&place(600, 0, false)));
        assert!(!place(790, 2, true).is_tied_with(&place(600, 0, false)));
    }
}
