//! The result of a search: the lines that the client may have meant by a text.

use std::slice;

use crate::line::LineRange;
use crate::rejection::{MatchKind, Normalization};

/// A place at least this many lines away from the named lines is not near them.
const OFF: u64 = 100;

/// The minimum similarity, out of 1000, of a place that differs by a typo or two.
const CLOSE: u64 = 800;

/// The similarity, out of 1000, below which about as much of a place differs from the text as agrees with it.
pub(super) const VAGUE: u64 = 750;

/// Lines that may be meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    pub(crate) lines: LineRange,
    pub(crate) how: MatchKind,
    /// Whether the first and the last line certainly belong to what is meant.
    pub(crate) is_sure: bool,
    /// The similarity to the text, out of 1000.
    pub(super) similarity: u64,
    /// Twice the number of lines that equal their line of the text, plus the number of other lines with its
    /// indentation. It is 0 if [`Self::how`] is not [`MatchKind::Fuzzy`].
    pub(super) exact: usize,
}

impl Hit {
    /// Whether the lines differ from the text by a typo or two at most.
    pub(crate) fn is_close(&self) -> bool {
        self.similarity >= CLOSE
    }

    /// Whether the lines are exactly the text that was sent.
    pub(crate) fn is_text(&self) -> bool {
        self.how == MatchKind::Lines(Normalization::Exact)
    }
}

/// The result of a search.
#[derive(Debug)]
pub(crate) enum Intended {
    One(Hit),
    /// Places that are equally good, the closest to the named lines first.
    Several(Vec<Hit>),
    /// The best place, though it is hardly like the text.
    Vague(Hit),
    Nothing,
}

impl Intended {
    /// Chooses among places. One is the answer if it is the named lines, if it overlaps them and no other is
    /// near (a wrong line number may as well mean a near place), or if it is the only one. Otherwise the
    /// answer is all. Returns `None` without places.
    pub(super) fn of(mut hits: Vec<Hit>, named: Option<LineRange>) -> Option<Self> {
        if let Some(named) = named {
            hits.sort_by_key(|hit| {
                (hit.lines != named, hit.lines.distance(named), !hit.lines.overlaps(named))
            });
        }
        let first = hits.first()?.clone();
        let is_met = named.is_some_and(|named| {
            let is_near = |hit: &Hit| hit.lines.distance(named) < OFF;
            first.lines == named || first.lines.overlaps(named) && !hits.iter().skip(1).any(is_near)
        });
        Some(if is_met || hits.len() == 1 { Self::One(first) } else { Self::Several(hits) })
    }

    /// Returns the places, the best one first.
    pub(crate) fn hits(&self) -> &[Hit] {
        match self {
            Self::One(hit) | Self::Vague(hit) => slice::from_ref(hit),
            Self::Several(hits) => hits,
            Self::Nothing => &[],
        }
    }
}
