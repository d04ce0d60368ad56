//! Searches a large file from its end, on a second thread: [`FromEnd`].
//!
//! The first thread searches the file from its beginning, and steps over the parts in which nothing was found
//! here. So the search takes half as long where a processor is idle, and as long as before where none is:
//! neither thread waits for the other, and none reads what the other has read.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_searcher::{BinaryDetection, MmapChoice, SearcherBuilder};
use mcp_text_editor_core::encoding::{Encoding, Validator};
use mcp_text_editor_core::source::Source;

use crate::search::deliver::{Asked, First, SearchFault};
use crate::search::stop::STEPS;
use crate::search::stoppable::Stoppable;

/// The most bytes of a line in the middle of two parts, and, since the searcher holds a whole line, of any
/// line. Where one is longer, this thread ends.
const LONGEST_LINE: usize = 64 * 1024;

/// The parts of a file in which nothing was found.
#[derive(Debug)]
pub(crate) struct FromEnd {
    /// The bytes of a part.
    length: u64,
    /// The offset up to which the first thread has read.
    reached: AtomicU64,
    /// The last of the file first.
    parts: Mutex<Vec<Stretch>>,
}

/// Some whole lines of UTF-8 that hold neither a hit nor NUL nor CR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) lines: u64,
}

impl FromEnd {
    /// Prepares to search a file in parts of about this length.
    pub(crate) fn new(length: u64) -> Self {
        Self { length, reached: AtomicU64::new(0), parts: Mutex::default() }
    }

    /// Searches part after part, until it meets the first thread, or a part that is not as most text is.
    pub(crate) fn search<S: Source<Error = SearchFault> + ?Sized>(&self, file: &S, asked: Asked<'_>) {
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(false)
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(LONGEST_LINE));
        let (mut searcher, matcher) = (builder.build(), Stoppable::new(asked.pattern, asked.stop, STEPS));
        let mut end = file.size();
        while let Some(start) = line_start(file, end.saturating_sub(self.length), end) {
            let mut first = First { is_found: false };
            let part = Stretch { start, end, lines: 0 };
            let mut reader =
                StretchReader { file, of: self, part, offset: start, check: Validator::new(Encoding::Utf8) };
            let outcome = searcher.search_reader(&matcher, &mut reader, &mut first);
            if !first.is_found {
                let Some(part) = reader.finish().filter(|_| outcome.is_ok()) else { return };
                self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
            }
            end = start;
        }
    }

    /// Returns the first part from an offset on, up to which the first thread has come.
    pub(crate) fn next(&self, reached: u64) -> Option<Stretch> {
        self.reached.store(reached, Ordering::Relaxed);
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        while parts.last().is_some_and(|part| part.start < reached) {
            parts.pop();
        }
        parts.last().copied()
    }
}

/// Returns the offset of the first line that begins after an offset and before `end`; `None` if that line is
/// too far. The line at the beginning of the file is left to the first thread.
fn line_start<S: Source<Error = SearchFault> + ?Sized>(file: &S, after: u64, end: u64) -> Option<u64> {
    let mut head = [0; 4096];
    let mut offset = after;
    while offset < (after + LONGEST_LINE as u64).min(end) {
        let block = file.read_into(offset, &mut head).ok()?;
        if let Some(at) = memchr::memchr(b'\n', block) {
            return Some(offset + at as u64 + 1).filter(|start| *start < end);
        }
        offset += block.len().max(1) as u64;
    }
    None
}

/// Reads a part of a file. The text ends early if the part is of no use.
struct StretchReader<'a, S: ?Sized> {
    file: &'a S,
    of: &'a FromEnd,
    part: Stretch,
    offset: u64,
    check: Validator,
}

impl<S: ?Sized> StretchReader<'_, S> {
    /// Returns the part if all of it was read, and decodes.
    fn finish(self) -> Option<Stretch> {
        (self.offset == self.part.end && self.check.finish().is_none()).then_some(self.part)
    }
}

impl<S: Source<Error = SearchFault> + ?Sized> Read for &mut StretchReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.of.reached.load(Ordering::Relaxed) > self.part.start {
            return Ok(0);
        }
        let left = usize::try_from(self.part.end - self.offset).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let block = buffer.get_mut(..length).unwrap_or_default();
        // What cannot be read is as the end.
        let block = self.file.read_into(self.offset, block).unwrap_or_default();
        if memchr::memchr2(0, b'\r', block).is_some() {
            return Ok(0);
        }
        self.check.feed(block);
        self.part.lines += memchr::memchr_iter(b'\n', block).count() as u64;
        self.offset += block.len() as u64;
        Ok(block.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::search::matcher::Pattern;
    use crate::search::request::Search;

    /// Lines of two bytes. A read that begins at a certain offset fails.
    struct Failing {
        lines: u64,
        at: u64,
    }

    impl Source for Failing {
        type Error = SearchFault;

        fn size(&self) -> u64 {
            self.lines * 2
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, SearchFault> {
            if offset == self.at {
                return Err(SearchFault::Stop);
            }
            let bytes = (offset..self.size()).map(|at| if at % 2 == 0 { b'b' } else { b'\n' });
            Ok(buffer.iter_mut().zip(bytes).map(|(to, byte)| *to = byte).count())
        }
    }

    /// The parts are 34..40, 28..34 and so on.
    #[test]
    fn a_part_that_cannot_be_read_is_not_stepped_over() {
        let stop = AtomicBool::new(false);
        let pattern = Pattern::of(&Search::new("a")).unwrap();
        let asked = Asked { pattern: &pattern, label: None, hashes: false, max_line_bytes: 100, stop: &stop };
        let first = |at| {
            let from_end = FromEnd::new(8);
            from_end.search(&Failing { lines: 20, at }, asked);
            from_end.next(0).map(|part| (part.start, part.end))
        };
        assert_eq!(first(u64::MAX), Some((2, 4)));
        assert_eq!((first(22), first(28), first(34)), (Some((28, 34)), Some((34, 40)), None));
    }
}
