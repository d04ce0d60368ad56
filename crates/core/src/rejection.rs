//! Why a request cannot be carried out: data, for others to put into words.

use crate::cause::Cause;
use crate::digest::{Digest, DigestPrefix};
use crate::encoding::Unencodable;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;

/// Which part of a request is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct At {
    /// The entry for the file, counted from 0, in calls that may name one file twice; the caller fills it in.
    pub entry: usize,
    /// The patch, counted from 0; 0 in requests that have no patches.
    pub patch: usize,
    /// The range in it, counted from 0, if it names ranges.
    pub range: Option<usize>,
}

/// Some lines as they are in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The lines of which it is an excerpt.
    pub of: LineRange,
    /// The number of the first line that is here.
    pub start: LineNumber,
    /// The character of that line from which on it is here, counted from 1.
    pub from_char: u64,
    /// The text, each line ended by `\n` (a last line without terminator is not).
    pub text: String,
    /// Whether more lines, or more of the last line, follow than are here.
    pub truncated: bool,
}

impl Excerpt {
    /// Whether the lines are here from the first to the last.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.truncated && self.start == self.of.start() && self.from_char <= 1
    }
}

/// Whether a request fits a file that is not the one it was made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Everything else in the request holds, and nothing that it names can be another place than was meant.
    Holds,
    /// Everything else in the request holds; but it names lines of which the text stands elsewhere in the file, too, or may, so
    /// that those that were meant can have moved.
    Repeated,
    /// It names a place by the number of a line alone, and nothing tells whether that is still the line that was meant.
    Unsure {
        /// The line.
        line: LineNumber,
        /// What stands around it.
        around: Box<Excerpt>,
    },
    /// It does not hold.
    Broken,
}

/// What helps to repair a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The text of the range that was named.
    pub actual: Option<Excerpt>,
    /// Where the wanted text stands: at most [`crate::matching::CLOSEST`] places, the closest to the range first.
    pub found_at: Vec<LineRange>,
    /// Whether the text stands at `found_at` as lines of their own, so that these ranges can be patched.
    pub whole_lines: bool,
    /// What nearly matches, best first.
    pub nearest: Vec<Excerpt>,
    /// The first line that differs from the wanted one: of the range that was named, else of what matches best.
    pub differs_at: Option<LineNumber>,
    /// Why the match failed, if that can be told.
    pub cause: Option<Cause>,
}

/// One thing that is wrong with a request for one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The file has another digest.
    HashMismatch {
        /// The digest it has.
        actual: Digest,
        /// Whether the request fits it all the same.
        fit: Fit,
    },
    /// A range ends before it starts.
    InvalidRange {
        /// Where in the request.
        at: At,
        /// The first line, as sent.
        start: i64,
        /// The last line, as sent.
        end: i64,
    },
    /// A range names lines that do not exist.
    LineOutOfRange {
        /// Where in the request.
        at: At,
        /// The first line, as sent.
        start: i64,
        /// The last line, as sent.
        end: Option<i64>,
        /// How many lines there are.
        total: u64,
    },
    /// The lines of a range have another digest.
    RangeHashMismatch {
        /// Where in the request.
        at: At,
        /// The lines.
        lines: LineRange,
        /// Their digest.
        digest: Digest,
        /// What the client remembers of it.
        expected: DigestPrefix,
        /// Whether the text that was sent as well is theirs.
        is_old_there: bool,
        /// What they are, and where lines with the remembered digest stand now.
        evidence: Box<Evidence>,
    },
    /// The text of a range is not what the request says.
    ContentMismatch {
        /// Where in the request.
        at: At,
        /// The lines.
        lines: LineRange,
        /// What they are, and where the wanted text stands.
        evidence: Box<Evidence>,
    },
    /// The text stands nowhere in the file.
    NoMatch {
        /// Where in the request.
        at: At,
        /// What comes near.
        evidence: Box<Evidence>,
    },
    /// The text stands in the file more than once.
    AmbiguousMatch {
        /// Where in the request.
        at: At,
        /// How often.
        count: u64,
        /// In which tier.
        tier: Tier,
        /// Where.
        evidence: Box<Evidence>,
    },
    /// An empty `old_string` without ranges, in a file that is not empty.
    EmptyOldString {
        /// Where in the request.
        at: At,
    },
    /// The file would begin with a byte order mark that it does not have, which no edit adds.
    ByteOrderMark {
        /// Where in the request.
        at: At,
    },
    /// Two parts of the request claim the same bytes.
    Overlap {
        /// The one that comes first in the file, and its lines.
        first: (At, LineRange),
        /// The other.
        second: (At, LineRange),
    },
    /// New text holds a character that the file's encoding cannot express.
    Unencodable {
        /// Where in the request.
        at: At,
        /// The character.
        character: char,
        /// Its line in the new text.
        line: LineNumber,
        /// Its place in that line, in characters from 1.
        column: u64,
    },
    /// An edit would begin or end inside a shifted run of a stateful encoding, or inside a byte sequence that stands for
    /// two characters.
    ShiftState {
        /// Where in the request.
        at: At,
        /// The lines.
        lines: LineRange,
    },
    /// The texts of the patches that replace every occurrence occur more often, together, than may be replaced.
    TooManyOccurrences {
        /// Where in the request it became too many.
        at: At,
        /// How often they occur, up to there.
        count: u64,
        /// How many may be replaced.
        most: u64,
    },
    /// The new text, once for each place that it is for, is more than may be put into one file.
    TooMuchText {
        /// Where in the request it became too much.
        at: At,
        /// How many bytes all of it has.
        bytes: u64,
        /// How many there may be.
        most: u64,
    },
}

impl Rejection {
    /// That `text`, a part of the request at `at`, has a character that the file's encoding lacks. `fault` says which.
    #[must_use]
    pub fn unencodable(at: At, text: &str, fault: &Unencodable) -> Self {
        let before: Vec<char> = text.chars().take(fault.index).collect();
        let line = before.iter().filter(|character| **character == '\n').count() as u64;
        let column = before.iter().rev().take_while(|character| **character != '\n').count() as u64 + 1;
        Self::Unencodable { at, character: fault.character, line: LineNumber::from_index(line), column }
    }

    /// The part of the request that it concerns; `None` for the file as a whole.
    #[must_use]
    pub fn at(&self) -> Option<At> {
        let mut first: Option<At> = None;
        self.clone().for_each_at(|at| first = Some(first.map_or(*at, |first| first.min(*at))));
        first
    }

    /// Visits every part of the request that it names, for a caller who knows them by other numbers.
    pub fn for_each_at(&mut self, mut each: impl FnMut(&mut At)) {
        match self {
            Self::HashMismatch { .. } => {}
            Self::InvalidRange { at, .. }
            | Self::LineOutOfRange { at, .. }
            | Self::RangeHashMismatch { at, .. }
            | Self::ContentMismatch { at, .. }
            | Self::NoMatch { at, .. }
            | Self::AmbiguousMatch { at, .. }
            | Self::EmptyOldString { at }
            | Self::ByteOrderMark { at }
            | Self::Unencodable { at, .. }
            | Self::ShiftState { at, .. }
            | Self::TooManyOccurrences { at, .. }
            | Self::TooMuchText { at, .. } => each(at),
            Self::Overlap { first, second } => {
                each(&mut first.0);
                each(&mut second.0);
            }
        }
    }
}
