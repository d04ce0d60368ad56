//! The length that a reply may have: what a client shows of it ([`Capacity`]), and what a read has left of
//! that (`RemainingCapacity`).

use mcp_text_editor_core::show::Budget;
use mcp_text_editor_core::text_length::Measure;

use crate::config::Output;

/// No option makes a reply shorter than this: an error may need as many characters.
const LEAST: usize = 8_000;
/// The least room that a shown range has for its text, if the reply has that much: a few lines.
const LEAST_TEXT: usize = 240;
/// The least number of lines that such a range has room for.
const LEAST_LINES: u64 = 3;

/// The size up to which a client shows a reply whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// The measure by which a reply is weighed.
    pub measure: Measure,
    /// The most that a reply may weigh. The text of files does not count where `text` gives it a budget of
    /// its own.
    pub whole: usize,
    /// The most lines that it may have.
    pub lines: u64,
    /// The budget for the text of files in a read, gutter included, in bytes of UTF-8 whatever the form of
    /// the reply; `None` if that text counts towards `whole`.
    pub text: Option<usize>,
}

impl Capacity {
    /// Makes the capacity that a person has set: so many bytes for the text of files in a read. What stands
    /// around that text, and other replies, have as many, and at least enough for an error.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { measure: Measure::BYTES, whole: bytes.max(LEAST), lines: u64::MAX, text: Some(bytes) }
    }

    /// Tells whether the client shows a reply, or an error, whole.
    #[must_use]
    pub fn admits(&self, text: &str) -> bool {
        self.measure.of(text) <= self.whole && lines(text) < self.lines
    }
}

/// Counts the line ends of a text.
pub(crate) fn lines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Finds the largest number up to `end` for which `fits` holds. If it holds for a number, it must hold for
/// each smaller one; 0 is not asked for.
pub(crate) fn most(end: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The weight of a piece of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ReplyWeight {
    /// The weight of a file's text in it, by the measure of `RemainingCapacity::budget`.
    pub(crate) text: usize,
    /// The weight of everything else.
    pub(crate) frame: usize,
    /// The number of its lines.
    pub(crate) lines: u64,
}

/// The capacity that a read has left. It is divided evenly among the ranges that are still to come, so that
/// the next ones can use what one leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemainingCapacity {
    capacity: Capacity,
    output: Output,
    frame: usize,
    text: Option<usize>,
    lines: u64,
    ranges: usize,
    facts: usize,
    /// The room that is reserved for each file of which only facts are asked for.
    each: ReplyWeight,
}

impl RemainingCapacity {
    /// Begins a read of so many ranges, and of so many files of which only facts are asked for.
    pub(crate) fn new(capacity: Capacity, output: Output, ranges: usize, facts: usize) -> Self {
        // A reply in JSON is one line.
        let lines = match output {
            // The end of the text counts as one.
            Output::Text => capacity.lines.saturating_sub(1),
            Output::Json => u64::MAX,
        };
        Self {
            capacity,
            output,
            frame: capacity.whole,
            text: capacity.text,
            lines,
            ranges,
            facts,
            each: ReplyWeight::default(),
        }
    }

    /// Reserves this much for each of the files of which only facts are asked for, but no more than half of
    /// the room for all of them.
    pub(crate) fn keep_for_facts(&mut self, each: ReplyWeight) {
        let count = self.facts.max(1);
        self.each = ReplyWeight {
            text: 0,
            frame: each.frame.min(self.frame / 2 / count),
            lines: each.lines.min(self.lines / 2 / count as u64),
        };
    }

    pub(crate) fn measure(&self) -> Measure {
        self.capacity.measure
    }

    /// Tells whether the client shows this reply whole, even without the room of its own that the text of
    /// files may have.
    pub(crate) fn admits(&self, reply: &str) -> bool {
        self.capacity.admits(reply)
    }

    /// Returns the budget of the next range, whose frame takes this much at most; `None` if not even the
    /// frame fits.
    pub(crate) fn budget(&self, frame: ReplyWeight, gutter: bool) -> Option<Budget> {
        let ranges = self.ranges.max(1);
        let for_ranges = self.frame.saturating_sub(self.each.frame.saturating_mul(self.facts));
        let lines_for_ranges = self.lines.saturating_sub(self.each.lines.saturating_mul(self.facts as u64));
        let free = self.frame.checked_sub(frame.frame)?;
        let lines = self.lines.checked_sub(frame.lines).filter(|lines| *lines > 0)?;
        let share = (lines_for_ranges / ranges as u64).saturating_sub(frame.lines);
        let lines = share.max(LEAST_LINES.min(lines));
        let (weight, measure) = if let Some(text) = self.text {
            (text / ranges, Measure::BYTES)
        } else {
            let share = (for_ranges / ranges).saturating_sub(frame.frame);
            let measure = match self.output {
                Output::Text => self.capacity.measure,
                Output::Json => self.capacity.measure.inside_json(),
            };
            (share.max(LEAST_TEXT.min(free)), measure)
        };
        Some(Budget { weight, measure, lines, gutter })
    }

    /// Takes capacity for a piece. Returns false, and takes nothing, if there is not enough.
    pub(crate) fn take(&mut self, piece: ReplyWeight) -> bool {
        // Text that has a budget of its own is never refused, even if it exceeds that: at least one character
        // is shown.
        let (frame, text) = match self.text {
            Some(text) => (piece.frame, Some(text.saturating_sub(piece.text))),
            None => (piece.frame.saturating_add(piece.text), None),
        };
        let (Some(frame), Some(lines)) = (self.frame.checked_sub(frame), self.lines.checked_sub(piece.lines))
        else {
            return false;
        };
        (self.frame, self.text, self.lines) = (frame, text, lines);
        true
    }

    /// Returns how much the problems of one file may take without taking much from the other files.
    pub(crate) fn max_for_failure(&self) -> usize {
        (self.frame / self.ranges.saturating_add(self.facts).max(1)).max(LEAST / 8)
    }

    /// Notes that so many ranges, and the facts of so many files, are done.
    pub(crate) fn pass(&mut self, ranges: usize, facts: usize) {
        self.ranges = self.ranges.saturating_sub(ranges);
        self.facts = self.facts.saturating_sub(facts);
    }
}
