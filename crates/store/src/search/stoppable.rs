//! Defines a matcher that can be stopped, for any pattern and any length of a line: [`Stoppable`].
//!
//! An engine of the crate `regex` cannot be stopped while it searches a text. In the worst case, its time is
//! proportional to the product of the text's bytes and the pattern's states. So each call of an engine gets
//! only as many whole lines as keep this product small. A line that is too long for this is searched by
//! [`LongLine`].

use std::cell::RefCell;
use std::ops::Range;

use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};

use crate::search::matcher::{LongLine, Pattern};
use crate::search::stop::{Halted, Stop};

/// A thread's matcher, which finds a pattern line by line. Each text must begin at the start of a line. In a
/// long line, the matcher finds only the end of a match, not its start.
pub(crate) struct Stoppable<'a> {
    pattern: &'a Pattern,
    stop: &'a dyn Stop,
    /// The maximum number of steps between two checks whether to stop.
    steps: usize,
    long_line: RefCell<LongLine<'a>>,
}

/// A part of a text that is searched with one call.
enum Piece {
    /// Some whole lines, without the line end of the last line.
    Lines(Range<usize>),
    /// A line that is too long for the engine, without its line end.
    Long(Range<usize>),
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(pattern: &'a Pattern, stop: &'a dyn Stop, steps: usize) -> Self {
        Self { pattern, stop, steps, long_line: RefCell::new(LongLine::new(&pattern.states, stop, steps)) }
    }

    /// Cuts a text into pieces, from an offset on.
    fn pieces(&self, text: &[u8], at: usize) -> impl Iterator<Item = Piece> {
        let most = (self.steps / self.pattern.states.states().len()).max(1);
        let mut from = at;
        std::iter::from_fn(move || {
            let rest = text.get(from..)?;
            let (length, is_long) = match rest.get(..=most) {
                None => (rest.strip_suffix(b"\n").unwrap_or(rest).len(), false),
                Some(head) => match memchr::memrchr(b'\n', head) {
                    Some(length) => (length, false),
                    None => (memchr::memchr(b'\n', rest).unwrap_or(rest.len()), true),
                },
            };
            let piece = from..from + length;
            from = piece.end + 1;
            Some(if is_long { Piece::Long(piece) } else { Piece::Lines(piece) })
        })
    }

    fn ask(&self, lines: &Range<usize>) -> Result<(), Halted> {
        let steps = lines.len() * self.pattern.states.states().len();
        if self.stop.is_over(steps) { Err(Halted::Stopped) } else { Ok(()) }
    }
}

/// Returns the part of a text before an offset, which must lie in the text.
fn head(text: &[u8], end: usize) -> &[u8] {
    text.get(..end).unwrap_or(text)
}

fn part<'a>(text: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    text.get(range.clone()).unwrap_or_default()
}

// The matcher of grep-regex never fails, although its error type allows errors. So its errors are ignored
// here.
impl Matcher for Stoppable<'_> {
    type Captures = NoCaptures;
    type Error = Halted;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, Halted> {
        for piece in self.pieces(text, at) {
            let found = match piece {
                Piece::Lines(lines) => {
                    self.ask(&lines)?;
                    self.pattern.regex.find_at(head(text, lines.end), lines.start).unwrap_or_default()
                }
                Piece::Long(line) => {
                    let end = self.long_line.borrow_mut().find_end(part(text, &line))?;
                    end.map(|end| Match::zero(line.start + end))
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn is_match_at(&self, text: &[u8], at: usize) -> Result<bool, Halted> {
        for piece in self.pieces(text, at) {
            let is_match = match piece {
                Piece::Lines(lines) => {
                    self.ask(&lines)?;
                    let regex = &self.pattern.regex;
                    regex.is_match_at(head(text, lines.end), lines.start).unwrap_or_default()
                }
                Piece::Long(line) => self.long_line.borrow_mut().find_end(part(text, &line))?.is_some(),
            };
            if is_match {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, Halted> {
        // The searcher calls this function with a single line, only to find out whether there is a match.
        Ok(self.is_match_at(text, at)?.then_some(text.len()))
    }

    fn new_captures(&self) -> Result<NoCaptures, Halted> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.pattern.regex.line_terminator()
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, Halted> {
        for piece in self.pieces(text, 0) {
            let found = match piece {
                Piece::Lines(lines) => {
                    self.ask(&lines)?;
                    let found =
                        self.pattern.regex.find_candidate_line(part(text, &lines)).unwrap_or_default();
                    found.map(|found| match found {
                        LineMatchKind::Confirmed(at) => LineMatchKind::Confirmed(lines.start + at),
                        LineMatchKind::Candidate(at) => LineMatchKind::Candidate(lines.start + at),
                    })
                }
                Piece::Long(line) => {
                    let end = self.long_line.borrow_mut().find_end(part(text, &line))?;
                    end.map(|_| LineMatchKind::Confirmed(line.start))
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
