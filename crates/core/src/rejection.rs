//! Defines the reasons why a request cannot be carried out, as data. Each can be displayed as a line for a
//! log. The caller tells the client what to do next, since that depends on the form of the request.
//!
//! Slips in new text: likely mistakes, as data. The review in [`resolve`](crate::resolve) finds them, and the
//! caller puts them into words.

use std::fmt;

use crate::digest::{Digest, DigestPrefix};
use crate::encoding::Unencodable;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;

/// Names a part of a request by its indices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[non_exhaustive]
pub struct At {
    /// The index, from 0, of the entry for the file in a call that may name one file twice. This crate leaves
    /// it 0; the caller fills it in.
    pub entry: usize,
    /// The index of the patch, from 0; 0 in requests that have no patches.
    pub patch: usize,
    /// The index, from 0, of the range in the patch or in the deletion; `None` if no range is concerned.
    pub range: Option<usize>,
}

/// Some lines as they are in the file, cut to a size that fits into an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The lines from which the excerpt is taken.
    pub of: LineRange,
    /// The number of the first line in `text`.
    pub start: LineNumber,
    /// The character of that line with which `text` begins, from 1.
    pub from_char: u64,
    /// The text, each line ended by `\n` (a last line without terminator is not).
    pub text: String,
    /// Whether `text` lacks the last of the lines, or the end of the last line.
    pub truncated: bool,
    /// The digest of the lines, terminators included, if `text` has all of them and an edit may name them.
    pub digest: Option<Digest>,
}

impl Excerpt {
    /// Tells whether `text` has all of the lines, from the first to the last.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.truncated && self.start == self.of.start() && self.from_char <= 1
    }
}

/// The fit of a request to a file that has changed since the client read it.
///
/// Exhaustive, for the same reason as [`Rejection`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Everything else in the request holds, and each place that it names is unambiguous.
    Holds,
    /// Everything else in the request holds. But it names lines whose text also occurs elsewhere in the file
    /// (or may, since the search is bounded). So the intended lines can have moved.
    Repeated,
    /// The request names a place by the number of a line alone, and nothing shows whether that is still the
    /// intended line.
    Unsure {
        /// The line.
        line: LineNumber,
        /// The lines around it, at most three above and three below.
        around: Box<Excerpt>,
    },
    /// The client sent the digest of this line as the digest of the file.
    OfLine(LineNumber),
    /// Something else in the request does not hold, either. Further rejections say what.
    Broken,
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds => f.write_str("all else in the request holds"),
            Self::Repeated => {
                f.write_str("all else in the request holds, but its lines may be repeated elsewhere")
            }
            Self::Unsure { line, .. } => {
                write!(f, "only the number of line {line} says where the edit belongs")
            }
            Self::OfLine(line) => write!(f, "it is the digest of line {line}"),
            Self::Broken => f.write_str("other parts of the request do not hold either"),
        }
    }
}

/// The findings about a match that failed, to help repair the request. Of a long file, only a part is
/// searched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Evidence {
    /// Nothing was searched, because that is done only for the first eight failures of a request.
    #[default]
    NotSearched,
    /// The edit is already made: the file has the new text, and no line that the edit removes.
    Applied(MatchPlace),
    /// The text would exist after an earlier patch of the request. But all patches refer to the file as it
    /// is.
    After {
        /// The earlier patch.
        patch: At,
        /// The new text with which the earlier patch would do the work of both, if it is at most 2000 bytes
        /// long.
        merged: Option<String>,
    },
    /// The lines that were meant.
    One(MatchPlace),
    /// Several candidates, the closest to the named lines first: at most three, or
    /// [`crate::matching::CLOSEST`] that have exactly the text. Lines that hold the new text come before all
    /// others.
    Several(Vec<MatchPlace>),
    /// No lines are so similar to the text that they must be meant. The place, if any, is a little similar.
    Nothing(Option<MatchPlace>),
}

/// Some lines that a request may mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchPlace {
    /// The lines.
    pub lines: LineRange,
    /// The way in which they match.
    pub how: MatchKind,
    /// Their digest, terminators included; `None` if a client should read them first, because they are not
    /// shown whole, or because their beginning or end is uncertain.
    pub digest: Option<Digest>,
    /// Their text; `None` if it is equal to the text that was sent.
    pub text: Option<Excerpt>,
    /// The first line that differs from the text.
    pub differs_at: Option<LineNumber>,
    /// A line near them that the other places do not have; only if two or three places may be meant.
    pub context: Option<ContextLine>,
}

impl MatchPlace {
    /// Makes a place, without its text and digest.
    pub(crate) fn new(lines: LineRange, how: MatchKind) -> Self {
        Self { lines, how, digest: None, text: None, differs_at: None, context: None }
    }
}

/// The way in which lines match a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchKind {
    /// The lines equal the text once these differences are undone.
    Lines(Normalization),
    /// The text is a part of the lines once these differences are undone.
    Part(Normalization),
    /// The lines begin with a head of the text and end with a tail of it.
    Gap {
        /// The lines between head and tail, which the text lacks.
        left_out: LineRange,
    },
    /// The lines are similar to the text.
    Fuzzy,
    /// The lines hold the new text.
    Applied,
}

/// The differences that are undone in a text and in the file to make them equal. Each up to
/// [`Normalization::Escapes`] includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Normalization {
    /// Nothing, or blanks at line ends if the match ignores them.
    Exact,
    /// Blanks at line ends.
    TrailingBlanks,
    /// Characters that look like others, or are invisible.
    Characters,
    /// Blanks, line breaks, quotes, signs of comments and letter case.
    Layout,
    /// Characters that are written as escapes.
    Escapes,
    /// Line numbers before each line, or blanks in their place.
    LineNumbers,
    /// Lines around the text that the file lacks: empty lines, a fence, marks of a patch.
    Wrapper,
}

impl Normalization {
    /// The normalizations that work on single lines.
    pub(crate) const OF_LINES: [Self; 5] =
        [Self::Exact, Self::TrailingBlanks, Self::Characters, Self::Layout, Self::Escapes];
}

/// A line that distinguishes a place from others with the same text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextLine {
    /// The number of the line.
    pub line: LineNumber,
    /// Whether it is above the place, not below it.
    pub is_above: bool,
    /// The first characters of its text without leading blanks, at most 60.
    pub text: String,
}

/// One thing that is wrong with a request for one file.
///
/// Displayed, each is one sentence with its numbers. The sentence names neither the part of the request
/// ([`Rejection::at`]), nor text of the file ([`Evidence`], [`Fit::Unsure`]): the caller adds these, because
/// it knows how its client names and numbers the parts.
///
/// Exhaustive, although it may grow: a caller needs words for every variant, and the compiler finds the
/// missing ones. A new variant is a breaking change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejection {
    /// The file does not have the digest that the request was made for.
    #[error("the digest of the file is {actual}, not the expected one; {fit}")]
    HashMismatch {
        /// The digest of the file.
        actual: Digest,
        /// The fit of the request to the file as it is.
        fit: Fit,
    },
    /// A range ends before it starts.
    #[error("the range from line {start} to line {end} ends before it starts")]
    InvalidRange {
        /// The place in the request.
        at: At,
        /// The first line, from 1, as sent.
        start: i64,
        /// The last line, included, as sent.
        end: i64,
    },
    /// A range or a position names lines that do not exist.
    #[error("{} out of range: the file has {}", named(*.start, *.end), counted(*.total))]
    LineOutOfRange {
        /// The place in the request.
        at: At,
        /// The first line, from 1, as sent; the line of a position.
        start: i64,
        /// The last line, included, as sent; `None` if none was sent.
        end: Option<i64>,
        /// The number of lines of the file.
        total: u64,
    },
    /// The lines of a range do not have the digest that the request expects of them.
    #[error("the digest of lines {lines} is {digest}, which does not begin with {}", .expected.as_str())]
    RangeHashMismatch {
        /// The place in the request.
        at: At,
        /// The lines.
        lines: LineRange,
        /// Their digest, terminators included.
        digest: Digest,
        /// The digest that the client remembers, or the beginning of it.
        expected: Box<DigestPrefix>,
        /// Whether the lines hold the old text that was sent with the range; false if none was sent.
        is_old_there: bool,
        /// Their text.
        actual: Box<Excerpt>,
        /// The lines that have the remembered digest now.
        evidence: Box<Evidence>,
    },
    /// The text of a range is not what the request says.
    #[error("lines {lines} do not hold the expected text")]
    ContentMismatch {
        /// The place in the request.
        at: At,
        /// The lines.
        lines: LineRange,
        /// Their text.
        actual: Box<Excerpt>,
        /// The lines that were meant.
        evidence: Box<Evidence>,
    },
    /// The text does not occur in the file.
    #[error("the text stands nowhere in the file")]
    NoMatch {
        /// The place in the request.
        at: At,
        /// The lines that were meant.
        evidence: Box<Evidence>,
    },
    /// The text occurs in the file more than once.
    #[error("the text stands in the file {count} times{}", ignored(*.tier))]
    AmbiguousMatch {
        /// The place in the request.
        at: At,
        /// The number of places, overlapping ones included; at least 2.
        count: u64,
        /// The strictest tier in which the text matches at all.
        tier: Tier,
        /// The first places.
        places: Vec<MatchPlace>,
    },
    /// A patch has neither ranges nor a text to replace, or an empty text in a file that is not empty.
    #[error("neither lines nor a text to replace are named")]
    EmptyOldString {
        /// The place in the request.
        at: At,
        /// The digest of all lines of the file.
        lines: Digest,
    },
    /// The file would begin with a byte order mark that it does not have. No edit may add or change a byte
    /// order mark.
    #[error("the file would begin with a byte order mark that it does not have")]
    ByteOrderMark {
        /// The place in the request.
        at: At,
    },
    /// The request names a place by its text alone, and the text is part of a line that another program has
    /// changed since the client saw the line.
    #[error("the text is part of lines {lines}, which another program has changed")]
    ChangedLine {
        /// The place in the request.
        at: At,
        /// The line.
        lines: LineRange,
        /// Its text.
        text: Box<Excerpt>,
    },
    /// New text has a slip that is certain.
    #[error("the new text of lines {lines} has a slip: {slip:?}")]
    TextSlip {
        /// The place in the request.
        at: At,
        /// The lines that the new text replaces.
        lines: LineRange,
        /// The slip.
        slip: Slip,
        /// The blanks before the place in its line, if nothing else stands before it.
        indentation: String,
    },
    /// Two parts of the request claim the same bytes.
    #[error("two parts of the request claim the same bytes, one of lines {} and one of lines {}", .first.1, .second.1)]
    Overlap {
        /// The part that comes first in the file, and its lines.
        first: (At, LineRange),
        /// The other part, and its lines.
        second: (At, LineRange),
    },
    /// New text holds a character that the file's encoding cannot express.
    #[error(
        "{character:?}, in line {line} and column {column} of the new text, is not in the file's encoding"
    )]
    Unencodable {
        /// The place in the request.
        at: At,
        /// The first such character.
        character: char,
        /// The line of the character in the new text.
        line: LineNumber,
        /// The place of the character in that line, in characters, from 1.
        column: u64,
    },
    /// An edit would begin or end inside a shifted run of a stateful encoding, or inside a byte sequence for
    /// two characters. Or, in a stateful encoding, the edits together would leave bytes that do not decode.
    #[error("at lines {lines}, the edit would cut the file where its encoding cannot be cut")]
    ShiftState {
        /// The place in the request.
        at: At,
        /// The lines.
        lines: LineRange,
    },
    /// The patches that replace every occurrence have, together, more occurrences than a request may replace.
    #[error("{count} occurrences would be replaced, and no more than {most} may be")]
    TooManyOccurrences {
        /// The patch with which the limit was exceeded.
        at: At,
        /// The number of occurrences up to and including that patch.
        count: u64,
        /// The maximum number of occurrences to replace:
        /// [`MatchOptions::max_occurrences`](crate::resolve::MatchOptions::max_occurrences).
        most: u64,
    },
    /// The new text, counted once for each place, is more than a request may insert into one file.
    #[error("{bytes} bytes of new text would be put into the file, and no more than {most} may be")]
    TooMuchText {
        /// The patch with which the limit was exceeded.
        at: At,
        /// The bytes of the new text of the whole request, in the file's encoding.
        bytes: u64,
        /// The maximum number of these bytes:
        /// [`MatchOptions::max_inserted`](crate::resolve::MatchOptions::max_inserted).
        most: u64,
    },
}

/// Names the lines of a request, for the beginning of a log line.
fn named(start: i64, end: Option<i64>) -> String {
    match end {
        Some(end) if end != start => format!("lines {start} to {end} are"),
        _ => format!("line {start} is"),
    }
}

fn counted(lines: u64) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("{lines} line{plural}")
}

/// Names the differences that a match in this tier ignores, for the end of a log line.
fn ignored(tier: Tier) -> &'static str {
    match tier {
        Tier::Exact => "",
        Tier::TrailingWhitespace => ", spaces and tabs at line ends aside",
    }
}

/// Matches the variants that concern one part of the request.
macro_rules! of_one_part {
    ($at:ident) => {
        Self::InvalidRange { $at, .. }
            | Self::LineOutOfRange { $at, .. }
            | Self::RangeHashMismatch { $at, .. }
            | Self::ContentMismatch { $at, .. }
            | Self::NoMatch { $at, .. }
            | Self::AmbiguousMatch { $at, .. }
            | Self::EmptyOldString { $at, .. }
            | Self::TextSlip { $at, .. }
            | Self::ChangedLine { $at, .. }
            | Self::ByteOrderMark { $at }
            | Self::Unencodable { $at, .. }
            | Self::ShiftState { $at, .. }
            | Self::TooManyOccurrences { $at, .. }
            | Self::TooMuchText { $at, .. }
    };
}

impl Rejection {
    /// Converts the error of encoding `text`, the part of the request at `at`, to a
    /// [`Rejection::Unencodable`]: its index becomes a line and a column. Lines of `text` end at `\n`.
    #[must_use]
    pub fn unencodable(at: At, text: &str, fault: &Unencodable) -> Self {
        let before: Vec<char> = text.chars().take(fault.index).collect();
        let line = before.iter().filter(|character| **character == '\n').count() as u64;
        let column = before.iter().rev().take_while(|character| **character != '\n').count() as u64 + 1;
        Self::Unencodable { at, character: fault.character, line: LineNumber::from_index(line), column }
    }

    /// Returns the part of the request that the rejection is about, the first in the request if there are
    /// two; `None` if it is about the whole file.
    #[must_use]
    pub fn at(&self) -> Option<At> {
        match self {
            Self::HashMismatch { .. } => None,
            of_one_part!(at) => Some(*at),
            Self::Overlap { first, second } => Some(first.0.min(second.0)),
        }
    }

    /// Calls `each` with every part of the request that the rejection names, so that a caller with other
    /// numbers for the parts can replace them.
    pub fn for_each_at(&mut self, mut each: impl FnMut(&mut At)) {
        if let Self::ContentMismatch { evidence, .. } | Self::NoMatch { evidence, .. } = self
            && let Evidence::After { patch, .. } = evidence.as_mut()
        {
            each(patch);
        }
        match self {
            Self::HashMismatch { .. } => {}
            of_one_part!(at) => each(at),
            Self::Overlap { first, second } => {
                each(&mut first.0);
                each(&mut second.0);
            }
        }
    }
}

/// The kinds of text that a caller recognises by a file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TextKind {
    /// Text of none of the kinds below.
    #[default]
    Plain,
    /// Markdown, where two spaces at the end of a line are a line break.
    Markdown,
    /// Columns between tabs, where tabs at the end of a line are empty columns.
    Tabular,
}

/// A slip in new text. The slips of the first two variants are certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slip {
    /// Each line begins with its own number, as in the reply to a read, and no line around the text does.
    Numbers,
    /// Only one of the old and the new text ends with a line end. As a result, the edit leaves or adds an
    /// empty line.
    EmptyLine,
    /// A line begins with a number, as in the reply to a read or a search, and no line around the text does.
    Number,
    /// The text begins with an empty line, and the surrounding text is not separated by empty lines.
    BlankFirst,
    /// The text ends with an empty line, and the surrounding text is not separated by empty lines.
    BlankLast,
    /// The first lines of the text repeat the lines above its place, or the last ones repeat the lines below
    /// it.
    Repeats {
        /// Whether the lines above are repeated.
        is_above: bool,
    },
    /// The text has more lines than it replaces, and the surplus is like the lines below, which stay.
    RangeTooShort {
        /// The number of surplus lines.
        surplus: u64,
    },
    /// The text begins with blanks, and follows blanks of the file.
    IndentedTwice {
        /// The blanks of the file.
        of_file: Blanks,
        /// The blanks of the text, or, if lines are deleted, of the line that takes their place.
        of_text: Blanks,
        /// Whether `of_text` is of the line that takes the place of deleted lines.
        is_of_next: bool,
    },
    /// The lines are indented differently from the lines that they replace, or from the lines around them.
    Indentation {
        /// The blanks of the first such line in the file.
        of_file: Blanks,
        /// The blanks of the line of the text.
        of_text: Blanks,
    },
    /// The first or the last line is a fence, a tag or a mark of the message that contained the text.
    Mark,
    /// Line ends, tabs or other characters are written as escapes.
    Escaped,
    /// The text is a JSON array of lines.
    List,
    /// A line loses trailing blanks that have a meaning in a file of this kind, and that the request did not
    /// quote.
    LostBlanks,
    /// The line that followed the old text now continues the last line of the new text.
    Joined,
    /// The rest of the line in which the old text ended now follows other lines.
    Torn,
    /// A line seems to stand for lines that were left out.
    Placeholder,
    /// The first line of a script names its interpreter, and ends with a CR.
    ScriptEnds,
}

impl Slip {
    /// Whether the text is hardly ever intended.
    #[must_use]
    pub fn is_certain(self) -> bool {
        matches!(self, Self::Numbers | Self::EmptyLine)
    }
}

/// A slip, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The slip.
    pub slip: Slip,
    /// The index of its line, from 0, in the new text.
    pub line: u64,
}

/// A slip in the new file, after an edit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportedSlip {
    /// The slip.
    pub slip: Slip,
    /// The line of the slip in the new file; the first such line, if there are several.
    pub line: LineNumber,
    /// The number of further lines with the same kind of slip.
    pub more: u64,
}

/// The numbers of spaces and tabs in a run of blanks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blanks {
    /// The number of spaces.
    pub spaces: u64,
    /// The number of tabs.
    pub tabs: u64,
}

impl Blanks {
    /// Counts the blanks of a text; `None` if it has other characters, or is empty.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut blanks = Self::default();
        for character in text.chars() {
            match character {
                ' ' => blanks.spaces += 1,
                '\t' => blanks.tabs += 1,
                _ => return None,
            }
        }
        (!text.is_empty()).then_some(blanks)
    }

    /// Returns the number of spaces and tabs together.
    #[must_use]
    pub fn count(self) -> u64 {
        self.spaces + self.tabs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one rejection of each kind.
    fn all() -> Vec<Rejection> {
        let at = At::default();
        let lines = LineRange::new(LineNumber::FIRST, 2);
        let line = LineNumber::from_index(6);
        let around = Excerpt {
            of: lines,
            start: lines.start(),
            from_char: 1,
            text: String::new(),
            truncated: false,
            digest: None,
        };
        let evidence = Box::<Evidence>::default();
        let after_another = Box::new(Evidence::After { patch: at, merged: None });
        let digest = Digest::of(b"");
        let mismatch = |fit| Rejection::HashMismatch { actual: digest, fit };
        vec![
            mismatch(Fit::Holds),
            mismatch(Fit::Repeated),
            mismatch(Fit::Unsure { line, around: Box::new(around.clone()) }),
            mismatch(Fit::Broken),
            Rejection::InvalidRange { at, start: 5, end: 3 },
            Rejection::LineOutOfRange { at, start: 3, end: Some(9), total: 5 },
            Rejection::LineOutOfRange { at, start: 3, end: None, total: 1 },
            Rejection::LineOutOfRange { at, start: 3, end: Some(3), total: 2 },
            Rejection::RangeHashMismatch {
                at,
                lines,
                digest,
                expected: Box::new(DigestPrefix::parse("0123456789ab").unwrap()),
                is_old_there: false,
                actual: Box::new(around.clone()),
                evidence: evidence.clone(),
            },
            Rejection::ContentMismatch { at, lines, actual: Box::new(around.clone()), evidence },
            Rejection::NoMatch { at, evidence: after_another },
            Rejection::AmbiguousMatch { at, count: 2, tier: Tier::Exact, places: Vec::new() },
            Rejection::AmbiguousMatch { at, count: 3, tier: Tier::TrailingWhitespace, places: Vec::new() },
            Rejection::EmptyOldString { at, lines: digest },
            Rejection::ChangedLine { at, lines, text: Box::new(around.clone()) },
            Rejection::TextSlip { at, lines, slip: Slip::Numbers, indentation: String::new() },
            Rejection::ByteOrderMark { at },
            Rejection::Overlap { first: (at, lines), second: (at, LineRange::new(line, 1)) },
            Rejection::Unencodable { at, character: 'é', line, column: 4 },
            Rejection::ShiftState { at, lines },
            Rejection::TooManyOccurrences { at, count: 11, most: 10 },
            Rejection::TooMuchText { at, bytes: 1025, most: 1024 },
        ]
    }

    #[test]
    fn an_excerpt_is_whole_from_its_first_character_to_its_last() {
        let (first, second) = (LineNumber::FIRST, LineNumber::from_index(1));
        for (start, from_char, truncated, is_whole) in [
            (first, 1, false, true),
            (first, 2, false, false),
            (first, 1, true, false),
            (second, 1, false, false),
            (second, 2, true, false),
        ] {
            let of = LineRange::new(first, 2);
            let excerpt =
                Excerpt { of, start, from_char, text: "text\n".to_owned(), truncated, digest: None };
            assert_eq!(excerpt.is_whole(), is_whole, "{excerpt:?}");
        }
    }

    #[test]
    fn what_is_about_a_part_of_the_request_names_it() {
        for mut rejection in all() {
            let before = rejection.at();
            let mut named = 0;
            rejection.for_each_at(|at| {
                at.entry += 3;
                named += 1;
            });
            let wanted = match rejection {
                Rejection::HashMismatch { .. } => 0,
                Rejection::NoMatch { .. } | Rejection::Overlap { .. } => 2,
                _ => 1,
            };
            assert_eq!(named, wanted, "{rejection}");
            assert_eq!(before, (wanted > 0).then(At::default), "{rejection}");
            assert_eq!(rejection.at(), before.map(|at| At { entry: 3, ..at }), "{rejection}");
        }
    }

    #[test]
    fn each_is_one_sentence() {
        let told = all().iter().map(|rejection| format!("{rejection}\n")).collect::<Vec<_>>().concat();
        insta::assert_snapshot!(told, @r"
        the digest of the file is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, not the expected one; all else in the request holds
        the digest of the file is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, not the expected one; all else in the request holds, but its lines may be repeated elsewhere
        the digest of the file is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, not the expected one; only the number of line 7 says where the edit belongs
        the digest of the file is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, not the expected one; other parts of the request do not hold either
        the range from line 5 to line 3 ends before it starts
        lines 3 to 9 are out of range: the file has 5 lines
        line 3 is out of range: the file has 1 line
        line 3 is out of range: the file has 2 lines
        the digest of lines 1-2 is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, which does not begin with 0123456789ab
        lines 1-2 do not hold the expected text
        the text stands nowhere in the file
        the text stands in the file 2 times
        the text stands in the file 3 times, spaces and tabs at line ends aside
        neither lines nor a text to replace are named
        the text is part of lines 1-2, which another program has changed
        the new text of lines 1-2 has a slip: Numbers
        the file would begin with a byte order mark that it does not have
        two parts of the request claim the same bytes, one of lines 1-2 and one of lines 7-7
        'é', in line 7 and column 4 of the new text, is not in the file's encoding
        at lines 1-2, the edit would cut the file where its encoding cannot be cut
        11 occurrences would be replaced, and no more than 10 may be
        1025 bytes of new text would be put into the file, and no more than 1024 may be
        ");
    }

    #[test]
    fn blanks_are_counted_by_kind_and_together() {
        for (text, spaces, tabs) in [(" ", 1, 0), ("\t", 0, 1), ("  \t ", 3, 1)] {
            let blanks = Blanks::of(text).unwrap();
            assert_eq!(
                (blanks.spaces, blanks.tabs, blanks.count()),
                (spaces, tabs, spaces + tabs),
                "{text:?}"
            );
        }
        assert_eq!(["", "a", " a", "\u{a0}"].map(Blanks::of), [None; 4]);
    }
}
