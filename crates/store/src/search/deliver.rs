//! Collects the lines of a file that the searcher (of the crate `grep-searcher`) finds, and delivers them as
//! [`Match`]es, in portions: [`Collector`].

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use grep_matcher::Matcher as _;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkError, SinkMatch};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::{LineNumber, LineRange};

use crate::error::StoreErrorKind;
use crate::search::matcher::Pattern;
use crate::search::request::{Cut, Match, TextLine};
use crate::search::skipped::Cause;
use crate::search::stop::Halted;
use crate::search::stoppable::Stoppable;

/// The approximate size in bytes of a portion of matches.
pub(crate) const PORTION: usize = 256 * 1024;
/// The number of bytes that each line adds to the size of a portion, besides the bytes of its text.
const LINE_OVERHEAD: usize = 128;
/// The maximum number of lines of a match that are shown after its first line.
const MOST_LINES: usize = 50;

/// The settings of a search that are the same for every file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchSettings<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) label: Option<Encoding>,
    pub(crate) hashes: bool,
    pub(crate) max_line_bytes: usize,
    pub(crate) max_file_bytes: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// Receives the matches of a file, in portions. `Break` ends the search.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(Vec<Match>) -> ControlFlow<()>;

/// The reason why a file is not searched to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SearchFault {
    /// The file is left out, for this cause.
    Skip(Cause),
    /// The caller stopped the whole search, or the file no longer exists.
    Stop,
    /// The searcher has reached its memory limit for a line, or cannot decide whether the line matches.
    Searcher,
}

impl SearchFault {
    /// Converts an error of the file to a fault of its search.
    pub(crate) fn of(error: &io::Error) -> Self {
        Self::of_kind(&StoreErrorKind::of(error))
    }

    pub(crate) fn of_kind(kind: &StoreErrorKind) -> Self {
        match kind {
            // The file was removed after its name was read.
            StoreErrorKind::NotFound => Self::Stop,
            StoreErrorKind::LinkLoop => Self::Skip(Cause::Link),
            StoreErrorKind::Changed => Self::Skip(Cause::Changed),
            StoreErrorKind::NotDownloaded => Self::Skip(Cause::Elsewhere),
            // All other kinds, for example the errors for a socket.
            _ => Self::Skip(Cause::Unreadable),
        }
    }
}

impl From<io::Error> for SearchFault {
    fn from(error: io::Error) -> Self {
        Self::of(&error)
    }
}

impl SinkError for SearchFault {
    fn error_message<T: fmt::Display>(message: T) -> Self {
        // The searcher returns the matcher's error only as text.
        if message.to_string() == Halted::Undecided.to_string() { Self::Searcher } else { Self::Stop }
    }

    fn error_io(error: io::Error) -> Self {
        // An error with an OS error code comes from reading the file. The searcher itself makes only one
        // error: a line needs too much memory.
        if error.raw_os_error().is_some() { Self::of(&error) } else { Self::Searcher }
    }
}

/// The operations of a searched file that its collector needs.
pub(crate) trait SearchedFile {
    /// Returns the digest of some lines; `None` if digests were not requested. `text` has the lines as the
    /// search saw them, with their line ends converted to LF.
    fn digest(&mut self, lines: LineRange, text: &[u8]) -> Result<Option<Digest>, SearchFault>;

    /// Delivers matches. If it is not known yet whether the whole file is text, checks this first, and fails
    /// if the file is not text.
    fn portion(&mut self, matches: Vec<Match>) -> Result<(), SearchFault>;
}

/// Collects the matches of a file.
pub(crate) struct Collector<'a, 'p, F> {
    pub(crate) matcher: &'a Stoppable<'p>,
    pub(crate) max_line_bytes: usize,
    pub(crate) found: F,
    before: Vec<TextLine>,
    matches: Vec<Match>,
    weight: usize,
}

impl<'a, 'p, F: SearchedFile> Collector<'a, 'p, F> {
    pub(crate) fn new(matcher: &'a Stoppable<'p>, max_line_bytes: usize, found: F) -> Self {
        Self {
            matcher,
            max_line_bytes: max_line_bytes.max(64),
            found,
            before: Vec::new(),
            matches: Vec::new(),
            weight: 0,
        }
    }

    /// Delivers the remaining matches.
    pub(crate) fn finish(&mut self) -> Result<(), SearchFault> {
        let matches = std::mem::take(&mut self.matches);
        if matches.is_empty() { Ok(()) } else { self.found.portion(matches) }
    }

    /// Adds the lines of a match. `number` is the number of the first line, and `text` is the text of all
    /// lines.
    pub(crate) fn hit(&mut self, number: u64, text: &[u8]) -> Result<(), SearchFault> {
        if self.weight >= PORTION {
            // The last match is not delivered yet, since context lines after it may follow.
            let last = self.matches.pop();
            self.finish()?;
            self.matches.extend(last);
            self.weight = 0;
        }
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').zip(number..);
        let line = self.line(number, lines.next().map_or(text, |(first, _)| first), true)?;
        let rest = lines.by_ref().take(MOST_LINES).map(|(text, number)| self.line(number, text, false));
        let rest: Vec<TextLine> = rest.collect::<Result<_, _>>()?;
        let count = 1 + rest.len() as u64 + lines.count() as u64;
        let lines = LineRange::new(line.number, count);
        let range_hash = self.found.digest(lines, text)?;
        let before = std::mem::take(&mut self.before);
        let end = LineNumber::from_index(lines.end().saturating_sub(1));
        self.matches.push(Match { line, end, rest, range_hash, before, after: Vec::new() });
        Ok(())
    }

    /// Adds a context line: after the last hit if `is_after`, otherwise before the next hit.
    pub(crate) fn around(&mut self, is_after: bool, number: u64, text: &[u8]) -> Result<(), SearchFault> {
        let line = self.line(number, text, false)?;
        match self.matches.last_mut() {
            Some(last) if is_after => last.after.push(line),
            _ => self.before.push(line),
        }
        Ok(())
    }

    /// Returns the line with this number. A line that is too long is cut; if `is_hit` is set, the part around
    /// the match stays.
    fn line(&mut self, number: u64, bytes: &[u8], is_hit: bool) -> Result<TextLine, SearchFault> {
        let number = LineNumber::from_index(number.saturating_sub(1));
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let (part, cut) = if text.len() <= self.max_line_bytes {
            (text, None)
        } else {
            let hit =
                if is_hit { self.matcher.find(text).map_err(SearchFault::error_message)? } else { None };
            let (part, cut) = part_of(text, hit.map_or(0, |hit| hit.start()), self.max_line_bytes);
            (part, Some(cut))
        };
        self.weight += part.len() + LINE_OVERHEAD;
        // The searcher does not check that lines are UTF-8.
        let text = std::str::from_utf8(part).map_err(|_| SearchFault::Skip(Cause::Undecodable))?;
        Ok(TextLine { number, text: text.to_owned(), cut })
    }
}

impl<F: SearchedFile> Sink for Collector<'_, '_, F> {
    type Error = SearchFault;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, SearchFault> {
        self.hit(found.line_number().unwrap_or(1), found.bytes())?;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, SearchFault> {
        let is_after = *context.kind() == SinkContextKind::After;
        self.around(is_after, context.line_number().unwrap_or(1), context.bytes())?;
        Ok(true)
    }
}

/// A sink that only records whether there is a match.
pub(crate) struct First {
    pub(crate) is_found: bool,
}

impl Sink for First {
    type Error = SearchFault;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, SearchFault> {
        self.is_found = true;
        Ok(false)
    }
}

/// Returns the part of a long line that is shown: about `most` bytes, some before the hit and more after it.
fn part_of(line: &[u8], hit: usize, most: usize) -> (&[u8], Cut) {
    let is_start = |at: usize| line.get(at).is_none_or(|byte| !matches!(byte, 0x80..=0xBF));
    let start = hit.saturating_sub(most / 4).min(line.len().saturating_sub(most));
    let start = (start..line.len()).find(|at| is_start(*at)).unwrap_or(line.len());
    let end = (start + most).min(line.len());
    let end = (start..=end).rev().find(|at| is_start(*at)).unwrap_or(end);
    let characters = |bytes: &[u8]| bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xBF)).count() as u64;
    let from_char = characters(line.get(..start).unwrap_or_default()) + 1;
    (line.get(start..end).unwrap_or_default(), Cut { from_char, line_length: characters(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_in_a_cloud_is_left_out_as_that() {
        let fault = SearchFault::of_kind(&StoreErrorKind::NotDownloaded);
        assert!(matches!(fault, SearchFault::Skip(Cause::Elsewhere)), "{fault:?}");
    }
}
