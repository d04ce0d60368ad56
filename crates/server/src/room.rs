//! How much may be said: what a client shows of a reply ([`Room`]), and what of it a read has left (`Left`).

use mcp_text_editor_core::measure::Measure;
use mcp_text_editor_core::show::Budget;

use crate::config::Output;

/// An error is this many characters at most, whoever reads it, so no option leaves a reply less.
const LEAST: usize = 8_000;
/// A range that is shown at all has this much for its text, if the reply has it: a few lines.
const LEAST_TEXT: usize = 240;
/// The same in lines.
const LEAST_LINES: u64 = 3;

/// How much of a reply is shown whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// How a reply is weighed.
    pub measure: Measure,
    /// What a reply may weigh: all of it, but for the text of files where that has room of its own.
    pub whole: usize,
    /// The lines that it may have.
    pub lines: u64,
    /// The room of its own that the text of files has in a read, gutter included: bytes of UTF-8, in either mode.
    pub text: Option<usize>,
}

impl Room {
    /// The room that a person has set: bytes of the files' text in a read; what is said around it, and any other reply, has as
    /// many, and enough for an error.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { measure: Measure::BYTES, whole: bytes.max(LEAST), lines: u64::MAX, text: Some(bytes) }
    }

    /// Whether a reply, or an error, is shown whole.
    #[must_use]
    pub fn admits(&self, text: &str) -> bool {
        self.measure.of(text) <= self.whole && lines(text) < self.lines
    }
}

/// The line ends of a text.
pub(crate) fn lines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// A piece of a reply, weighed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Piece {
    /// The text of a file in it, by the measure of `Left::budget`.
    pub(crate) text: usize,
    /// All else.
    pub(crate) frame: usize,
    /// Its lines.
    pub(crate) lines: u64,
}

/// What a read may still say: divided evenly among the ranges that are to come, and what one leaves the next may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    room: Room,
    output: Output,
    frame: usize,
    text: Option<usize>,
    lines: u64,
    ranges: usize,
    facts: usize,
    /// What is kept for each file of which only facts are asked for.
    each: Piece,
}

impl Left {
    /// Room for a read of so many ranges, and of so many files of which only facts are asked for.
    pub(crate) fn new(room: Room, output: Output, ranges: usize, facts: usize) -> Self {
        // A reply in JSON is one line.
        let lines = match output {
            // The end of the text counts as one.
            Output::Text => room.lines.saturating_sub(1),
            Output::Json => u64::MAX,
        };
        Self {
            room,
            output,
            frame: room.whole,
            text: room.text,
            lines,
            ranges,
            facts,
            each: Piece::default(),
        }
    }

    /// Keeps this much for each of the files of which only facts are asked for, but no more than half of all.
    pub(crate) fn keep_for_facts(&mut self, each: Piece) {
        let count = self.facts.max(1);
        self.each = Piece {
            text: 0,
            frame: each.frame.min(self.frame / 2 / count),
            lines: each.lines.min(self.lines / 2 / count as u64),
        };
    }

    pub(crate) fn measure(&self) -> Measure {
        self.room.measure
    }

    /// Whether a whole reply is shown whole; where the text of files has room of its own, one that does not need it.
    pub(crate) fn admits(&self, reply: &str) -> bool {
        self.room.admits(reply)
    }

    /// How much the next range may show, whose frame takes this much at most; `None` if not even that has room.
    pub(crate) fn budget(&self, frame: Piece, gutter: bool) -> Option<Budget> {
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
                Output::Text => self.room.measure,
                Output::Json => self.room.measure.inside_json(),
            };
            (share.max(LEAST_TEXT.min(free)), measure)
        };
        Some(Budget { weight, measure, lines, gutter })
    }

    /// Takes a piece of the room; false, and nothing is taken, if it has none.
    pub(crate) fn take(&mut self, piece: Piece) -> bool {
        // Text with room of its own always has it: one character is shown in any case.
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

    /// What the problems of one file may take without taking much from the others.
    pub(crate) fn max_for_failure(&self) -> usize {
        (self.frame / self.ranges.saturating_add(self.facts).max(1)).max(LEAST / 8)
    }

    /// A range, or the facts of a file, have had their turn.
    pub(crate) fn pass(&mut self, ranges: usize, facts: usize) {
        self.ranges = self.ranges.saturating_sub(ranges);
        self.facts = self.facts.saturating_sub(facts);
    }
}
