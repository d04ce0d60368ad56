//! The result of a search: the lines that a text may have been meant to be.

use std::slice;

use crate::line::LineRange;
use crate::rejection::{MatchKind, Normalization};

/// The most lines between the named lines and the ones that were meant.
const OFF: u64 = 100;

/// The least similarity, of 1000, of a place that differs by a typo or two.
const CLOSE: u64 = 800;

/// A place of less similarity has about as much other text as that of the text.
pub(super) const VAGUE: u64 = 750;

/// Some lines that may be meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    pub(crate) lines: LineRange,
    pub(crate) how: MatchKind,
    /// Whether the first and the last line certainly belong to it.
    pub(crate) is_sure: bool,
    /// The similarity, of 1000.
    pub(super) similarity: u64,
    /// Twice the number of lines that are as the text has them, and the number of others that have its
    /// indentation; 0 unless the lines are only similar.
    pub(super) exact: usize,
}

impl Hit {
    /// Whether the lines differ from the text by a typo or two at most.
    pub(crate) fn is_close(&self) -> bool {
        self.similarity >= CLOSE
    }

    /// Whether the very text that was sent stands there as whole lines.
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
    /// A place that is hardly like the text.
    Vague(Hit),
    Nothing,
}

impl Intended {
    /// Chooses among places: the named lines, or those that meet them where no other is near, since a range
    /// that is off may as well have been meant to be the next place; else the only one. `None` without
    /// places.
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
