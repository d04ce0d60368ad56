//! Has tables of known facts about the programs that call this server: how much of a reply each program
//! shows, and the keys that programs add to calls. A row has the name that the program gives itself, its
//! version and the day of the measurement, which `docs/install.md` describes. Also defines the maximum size
//! of a reply ([`Capacity`]), and the rest of it that a read has left (`RemainingCapacity`).

use mcp_text_editor_core::show::Budget;
use mcp_text_editor_core::text_length::{LengthUnit, Measure};

use crate::config::Output;

/// A program, and the size of a reply up to which it shows the reply to its model without cuts.
#[derive(Debug)]
pub struct ClientFacts {
    /// The `name` in the program's `clientInfo`.
    pub name: Name,
    /// The name that people use for the program.
    pub program: &'static str,
    /// The version that was measured.
    pub version: &'static str,
    /// The day of the measurement.
    pub measured: &'static str,
    /// The program's capacity for a reply with `--output text`.
    pub text: Capacity,
    /// The program's capacity for a reply with `--output json`: for the JSON text, and in some programs for
    /// the structured content in addition.
    pub json: Capacity,
}

/// The name that a program gives itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// Exactly this name.
    Is(&'static str),
    /// A name that begins with this text, and ends with the name under which a person has registered the
    /// server.
    BeginsWith(&'static str),
}

impl Name {
    fn is_of(self, name: &str) -> bool {
        match self {
            Self::Is(known) => name == known,
            Self::BeginsWith(known) => name.starts_with(known),
        }
    }
}

const fn capacity(unit: LengthUnit, escapes: u8, whole: usize, lines: u64) -> Capacity {
    Capacity { measure: Measure { unit, escapes }, whole, lines, text: None }
}

/// The capacity of an unknown program: not larger than the capacity of any known program.
pub const UNKNOWN: Capacity = capacity(LengthUnit::Utf8, 0, 18_000, 900);

const ANY: u64 = u64::MAX;

/// The programs that were measured. Each number is a few percent lower than the measured one.
pub static CLIENTS: &[ClientFacts] = &[
    // Shows 50 000 UTF-16 units of text. In another measurement of this version, it showed as many units of
    // the text in escaped JSON, where a line end takes two units. The capacity fits both. A reply in JSON is
    // not escaped again.
    ClientFacts {
        name: Name::Is("claude-code"),
        program: "Claude Code",
        version: "2.1.197",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 1, 49_000, ANY),
        json: capacity(LengthUnit::Utf16, 0, 49_000, ANY),
    },
    // With gpt-6.1-sol, shows 40 000 bytes of the whole result as JSON, in which the text is escaped; with
    // gpt-5.5, 48 000 bytes, not escaped. A reply in JSON occurs twice in the result: as structured content,
    // and as escaped text.
    ClientFacts {
        name: Name::Is("codex-mcp-client"),
        program: "Codex CLI",
        version: "0.169.0",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 1, 38_500, ANY),
        json: capacity(LengthUnit::Utf8, 1, 19_000, ANY),
    },
    // Shows 40 000 UTF-16 units, some 200 of which are its own words around the reply.
    ClientFacts {
        name: Name::BeginsWith("gemini-cli-mcp-client"),
        program: "Gemini CLI",
        version: "0.61.0",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 0, 39_000, ANY),
        json: capacity(LengthUnit::Utf16, 0, 39_000, ANY),
    },
    // Shows 51 200 bytes, and fewer than 2 000 lines.
    ClientFacts {
        name: Name::Is("opencode"),
        program: "OpenCode",
        version: "1.18.33",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 0, 50_000, 1_950),
        json: capacity(LengthUnit::Utf8, 0, 50_000, 1_950),
    },
    // Shows 25 000 UTF-16 units, and fewer than 1 000 lines.
    ClientFacts {
        name: Name::BeginsWith("qwen-cli-mcp-client"),
        program: "Qwen Code",
        version: "0.15.10",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 0, 24_400, 970),
        json: capacity(LengthUnit::Utf16, 0, 24_400, 970),
    },
    // Shows 20 480 bytes.
    ClientFacts {
        name: Name::Is("copilot-cli"),
        program: "Copilot CLI",
        version: "1.0.102",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 0, 20_000, ANY),
        json: capacity(LengthUnit::Utf8, 0, 20_000, ANY),
    },
];

/// Returns how much of a reply the program of this name shows.
#[must_use]
pub fn capacity_of(name: Option<&str>, output: Output) -> Capacity {
    let known = CLIENTS.iter().find(|client| name.is_some_and(|name| client.name.is_of(name)));
    known.map_or(UNKNOWN, |client| match output {
        Output::Text => client.text,
        Output::Json => client.json,
    })
}

/// A key that a client itself adds to the arguments of every call, regardless of the tool's schema.
#[derive(Clone, Copy, Debug)]
pub struct AddedKey {
    /// The key.
    pub name: &'static str,
    /// The client that sends it, with the version and the day of the observation.
    pub seen_in: &'static str,
}

/// The keys that clients add. They are ignored at the top level of a call's arguments, whichever client
/// calls, because the call may come through a proxy, and a model may have copied the keys.
pub const ADDED_KEYS: &[AddedKey] = &[
    // Gemini CLI puts this key into the schema of every tool for its own scheduler, and sends it with its
    // value to the server, too.
    AddedKey { name: "wait_for_previous", seen_in: "Gemini CLI 0.61.0, 2026-11-22" },
    // Models add these keys to calls out of habit, because tools of these clients require them. The call
    // itself is not wrong.
    AddedKey { name: "instruction", seen_in: "Gemini CLI 0.61.0, of its `replace`, 2026-11-22" },
    AddedKey { name: "explanation", seen_in: "Copilot in VS Code, of `insert_edit_into_file`, 2026-11-23" },
    AddedKey { name: "description", seen_in: "Windsurf, of `replace_file_content`, 2026-11-23" },
];

/// Tells whether a key is one of [`ADDED_KEYS`]. Ignores letter case.
#[must_use]
pub fn is_added(name: &str) -> bool {
    ADDED_KEYS.iter().any(|key| key.name.eq_ignore_ascii_case(name))
}

/// The minimum size of a reply, whatever the options: an error may need as many characters.
const LEAST: usize = 8_000;
/// The minimum room for the text of a shown range, if the reply has that much: a few lines.
const LEAST_TEXT: usize = 240;
/// The minimum number of lines for which such a range has room.
const LEAST_LINES: u64 = 3;

/// The size up to which a client shows a reply whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// The measure that weighs a reply.
    pub measure: Measure,
    /// The maximum weight of a reply. The text of files does not count if `text` gives it a budget of its
    /// own.
    pub whole: usize,
    /// The maximum number of lines of a reply.
    pub lines: u64,
    /// The budget for the text of files in a read, gutter included, in bytes of UTF-8 whatever the form of
    /// the reply; `None` if that text counts towards `whole`.
    pub text: Option<usize>,
}

impl Capacity {
    /// Makes the capacity that a person has set: this number of bytes for the text of files in a read. The
    /// rest of a read's reply, and other replies, have the same number of bytes, but at least enough for an
    /// error.
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

/// Finds the largest number up to `end` for which `fits` holds. If `fits` holds for a number, it must hold
/// for each smaller number. It is not called with 0.
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
    /// The weight of the file text in the piece, by the measure of `RemainingCapacity::budget`.
    pub(crate) text: usize,
    /// The weight of everything else.
    pub(crate) frame: usize,
    /// The number of lines of the piece.
    pub(crate) lines: u64,
}

/// The capacity that a read has left. It is divided evenly among the ranges that are still to come. So
/// capacity that a range does not use is left to the next ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemainingCapacity {
    capacity: Capacity,
    output: Output,
    frame: usize,
    text: Option<usize>,
    lines: u64,
    ranges: usize,
    facts: usize,
    /// The room that is reserved for each file of which only facts are requested.
    each: ReplyWeight,
}

impl RemainingCapacity {
    /// Begins a read of `ranges` ranges, and of `facts` files of which only facts are requested.
    pub(crate) fn new(capacity: Capacity, output: Output, ranges: usize, facts: usize) -> Self {
        // A reply in JSON is one line.
        let lines = match output {
            // The end of the text counts as a line.
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

    /// Reserves this room for each file of which only facts are requested, but for all of them together at
    /// most half of the room.
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

    /// Tells whether the client shows this reply whole, even if the text of files had no budget of its own.
    pub(crate) fn admits(&self, reply: &str) -> bool {
        self.capacity.admits(reply)
    }

    /// Returns the budget of the next range, whose frame has at most this weight; `None` if not even the
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
        // Text that has a budget of its own is never refused, even if it exceeds the budget, because at least
        // one character is shown.
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

    /// Returns the weight up to which the problems of one file leave enough room for the other files.
    pub(crate) fn max_for_failure(&self) -> usize {
        (self.frame / self.ranges.saturating_add(self.facts).max(1)).max(LEAST / 8)
    }

    /// Records that this number of ranges, and the facts of this number of files, are done.
    pub(crate) fn pass(&mut self, ranges: usize, facts: usize) {
        self.ranges = self.ranges.saturating_sub(ranges);
        self.facts = self.facts.saturating_sub(facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_the_name_that_it_gives_itself() {
        let weight = |name| capacity_of(name, Output::Text).whole;
        assert_eq!(weight(Some("claude-code")), 49_000);
        assert_eq!(weight(Some("claude-code-2")), UNKNOWN.whole);
        assert_eq!(weight(Some("qwen-cli-mcp-client-text-editor")), 24_400);
        assert_eq!(weight(None), UNKNOWN.whole);
    }

    #[test]
    fn no_known_program_shows_less_than_an_unknown_one() {
        for client in CLIENTS {
            for capacity in [client.text, client.json] {
                assert!(capacity.whole >= UNKNOWN.whole && capacity.lines >= UNKNOWN.lines, "{client:?}");
            }
        }
    }
}
