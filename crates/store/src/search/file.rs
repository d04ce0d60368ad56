//! Searches one file: [`FileSearcher`]. A small file is read as a whole, a large file in blocks
//! ([`crate::search::stream`]).

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::scan::{Scan, Scanned, Scanner};

use crate::attempts::MAX_ATTEMPTS;
use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::Patience;
use crate::read::document::has_its_size;
use crate::search::deliver::{Collector, Emit, First, SearchFault, SearchSettings, SearchedFile};
use crate::search::matcher::LONGEST_TEXT;
use crate::search::request::Match;
use crate::search::skipped::Cause;
use crate::search::stop::STEPS;
use crate::search::stoppable::Stoppable;
use crate::search::text::{self, TextForm};
use crate::search::{lines, stream};

/// The maximum number of bytes of a line of a large file. The searcher holds a whole line in memory.
pub(crate) const LONGEST_LINE: usize = 16 << 20;

/// The result of the search of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Searched {
    Whole,
    /// The whole file was searched, and nothing was found. Something would be found if the pattern were
    /// interpreted as the cause says.
    Otherwise(Cause),
    Skipped(Cause),
    /// The file was not searched, or not to its end: it was removed meanwhile, or the search was stopped.
    Not,
}

/// The maximum size in bytes of a file that is searched for the pattern's other readings, too. These are
/// patterns that the client may have meant instead.
const MAX_REREAD: u64 = 64 << 20;

/// Searches files, one after the other, and reuses its buffers for them.
pub(crate) struct FileSearcher<'a> {
    settings: SearchSettings<'a>,
    searcher: Searcher,
    matcher: Stoppable<'a>,
    /// The other readings of the pattern, which explain why nothing is found. Empty once something was found
    /// in any file.
    readings: Vec<(Cause, SearchSettings<'a>, Stoppable<'a>)>,
    /// The maximum size in bytes of a file that is read as a whole.
    small: u64,
    /// The numbers of context lines before and after each hit.
    around: [usize; 2],
    raw: Vec<u8>,
    text: Vec<u8>,
}

impl<'a> FileSearcher<'a> {
    pub(crate) fn new(settings: SearchSettings<'a>, around: [u64; 2], small: u64) -> Self {
        let around = around.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .before_context(around[0])
            .after_context(around[1])
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(LONGEST_LINE));
        let matcher = |pattern| Stoppable::new(pattern, settings.stop, STEPS);
        let readings = settings.pattern.readings.iter();
        Self {
            settings,
            searcher: builder.build(),
            matcher: matcher(settings.pattern),
            readings: readings
                .map(|(cause, pattern)| (*cause, SearchSettings { pattern, ..settings }, matcher(pattern)))
                .collect(),
            small: if settings.pattern.finder.is_some() { LONGEST_TEXT } else { small },
            around,
            raw: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Searches a file. If the file changes meanwhile, opens it again and starts again, unless `emit` has
    /// received some of its matches already.
    pub(crate) fn search(&mut self, open: impl Fn() -> io::Result<File>, emit: Emit<'_>) -> Searched {
        let searched = of_one_state(|| {
            let mut is_handed_on = false;
            let mut handing_on = |matches| {
                is_handed_on = true;
                emit(matches)
            };
            let file = open()?;
            let searched = self.search_open(&file, &mut handing_on);
            if is_handed_on {
                self.readings.clear();
            }
            match searched {
                // Another attempt would deliver the first matches again.
                Err(SearchFault::Skip(Cause::Changed)) if is_handed_on => {
                    Ok(Searched::Skipped(Cause::Changed))
                }
                Ok(size) => {
                    Ok(self.reading_with_hit(&file, size).map_or(Searched::Whole, Searched::Otherwise))
                }
                Err(fault) => Err(fault),
            }
        });
        searched.unwrap_or_else(|fault| match fault {
            SearchFault::Skip(cause) => Searched::Skipped(cause),
            SearchFault::Searcher => Searched::Skipped(Cause::LineTooLong),
            SearchFault::Stop => Searched::Not,
        })
    }

    /// Searches the bytes of a binary file, only to find out whether the pattern is in them. NUL bytes count
    /// as line ends, as in ripgrep.
    pub(crate) fn look(&mut self, open: impl Fn() -> io::Result<File>) -> Searched {
        let mut searcher = SearcherBuilder::new();
        searcher
            .line_number(false)
            .binary_detection(BinaryDetection::convert(0))
            .bom_sniffing(false)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(LONGEST_LINE));
        let mut first = First { is_found: false };
        let looked = of_one_state(|| searcher.build().search_reader(&self.matcher, open()?, &mut first));
        match looked {
            Err(SearchFault::Stop) => Searched::Not,
            _ if first.is_found => Searched::Skipped(Cause::BinaryHit),
            _ => Searched::Skipped(Cause::Binary),
        }
    }

    /// Searches an open file, and returns its size.
    fn search_open(&mut self, file: &File, emit: Emit<'_>) -> Result<u64, SearchFault> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(SearchFault::Skip(Cause::Special));
        }
        if metadata.len() <= self.small {
            let length = self.read(file, metadata.len())?;
            self.search_small(length, emit)?;
        } else if self.settings.pattern.finder.is_some() {
            let mut head = [0; 4096];
            let length = os::read_at(file, &mut head, 0)?;
            let head = head.get(..length).unwrap_or_default();
            let form = TextForm::of(head, self.settings.label);
            let is_text = text::of_bytes(head, form, &mut self.text) != Err(Cause::Binary);
            return Err(SearchFault::Skip(if is_text { Cause::TooLarge } else { Cause::Binary }));
        } else {
            let size = metadata.len();
            stream::search(file, size, self.settings, &self.matcher, &mut self.searcher, emit)?;
        }
        Ok(metadata.len())
    }

    /// Returns the first of the pattern's other readings that has a hit in the file, in which the pattern
    /// itself was not found.
    fn reading_with_hit(&mut self, file: &File, size: u64) -> Option<Cause> {
        if self.readings.is_empty() || size > MAX_REREAD {
            return None;
        }
        let mut text: &[u8] = &[];
        let mut is_checked = true;
        if size <= self.small {
            let raw = self.raw.get(..usize::try_from(size).ok()?)?;
            let form = TextForm::of(raw.get(..4).unwrap_or(raw), self.settings.label);
            (text, _) = text::of_bytes(raw, form, &mut self.text).ok()?;
            is_checked = form.encoding != Encoding::Utf8;
        }
        let searcher = &mut self.searcher;
        let mut has_hit = |settings: SearchSettings<'_>, matcher: &Stoppable<'_>| {
            let mut first = First { is_found: false };
            let _ = if size <= self.small {
                searcher.search_slice(matcher, text, &mut first)
            } else {
                stream::search(file, size, settings, matcher, searcher, &mut |_| {
                    first.is_found = true;
                    ControlFlow::Break(())
                })
            };
            // A hit counts only if the file decodes, since otherwise no tool could show the hit.
            first.is_found && (is_checked || text::is_utf8(text))
        };
        self.readings
            .iter()
            .find(|(_, settings, matcher)| has_hit(*settings, matcher))
            .map(|(cause, ..)| *cause)
    }

    /// Reads a small file to the beginning of `raw`, and returns its length.
    fn read(&mut self, file: &File, size: u64) -> Result<usize, SearchFault> {
        // The buffer has room for one more byte, so the last read also shows whether the file ends where its
        // size says.
        let room = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
        if self.raw.len() < room {
            self.raw.resize(room, 0);
        }
        let mut length = 0;
        while (length as u64) < size {
            let buffer = self.raw.get_mut(length..room).unwrap_or_default();
            match os::read_at(file, buffer, length as u64)? {
                0 => break,
                read => length += read,
            }
        }
        if has_its_size(file, size, length as u64) {
            return Ok(length);
        }
        let is_unchanged = file.metadata().is_ok_and(|now| now.len() == size);
        Err(SearchFault::Skip(if is_unchanged { Cause::Special } else { Cause::Changed }))
    }

    fn search_small(&mut self, length: usize, emit: Emit<'_>) -> Result<(), SearchFault> {
        let raw = self.raw.get(..length).unwrap_or_default();
        let form = TextForm::of(raw.get(..4).unwrap_or(raw), self.settings.label);
        let (text, is_changed) = text::of_bytes(raw, form, &mut self.text).map_err(SearchFault::Skip)?;
        let found = Small {
            settings: self.settings,
            raw,
            form,
            is_changed,
            is_checked: form.encoding != Encoding::Utf8,
            scan: None,
            emit,
        };
        let mut collector = Collector::new(&self.matcher, self.settings.max_line_bytes, found);
        match &self.settings.pattern.finder {
            Some(finder) => lines::search(finder, text, self.around, self.settings.stop, &mut collector)?,
            None => self.searcher.search_slice(&self.matcher, text, &mut collector)?,
        }
        collector.finish()?;
        let is_compared = form.encoding != Encoding::Utf8 || !self.settings.pattern.is_beyond_ascii;
        if is_compared || text::is_utf8(text) { Ok(()) } else { Err(SearchFault::Skip(Cause::NotDecoded)) }
    }
}

/// A small file, whose bytes are in memory.
struct Small<'a> {
    settings: SearchSettings<'a>,
    raw: &'a [u8],
    form: TextForm,
    /// Whether the text that is searched differs from the file's bytes after the byte order mark.
    is_changed: bool,
    /// Whether it is already known that the whole file decodes.
    is_checked: bool,
    /// The scan of the file's lines, made when it is first needed.
    scan: Option<Scan>,
    emit: Emit<'a>,
}

impl SearchedFile for Small<'_> {
    fn digest(&mut self, lines: LineRange, text: &[u8]) -> Result<Option<Digest>, SearchFault> {
        if !self.settings.hashes {
            return Ok(None);
        }
        if !self.is_changed {
            return Ok(Some(Digest::of(text)));
        }
        let scan = self.scan.get_or_insert_with(|| {
            let mut scanner = Scanner::without_digest(self.settings.label);
            scanner.feed(self.raw);
            scanner.finish()
        });
        let Ok(bytes) = Scanned::new(self.raw, scan).bytes_of(lines);
        let of = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        Ok(self.raw.get(of(bytes.start)..of(bytes.end)).map(Digest::of))
    }

    fn portion(&mut self, matches: Vec<Match>) -> Result<(), SearchFault> {
        if !self.is_checked {
            let body = self.raw.get(self.form.start..).unwrap_or_default();
            if !text::is_utf8(body) {
                return Err(SearchFault::Skip(Cause::Undecodable));
            }
            self.is_checked = true;
        }
        if self.settings.stop.load(Ordering::Relaxed) || (self.emit)(matches).is_break() {
            return Err(SearchFault::Stop);
        }
        Ok(())
    }
}

/// Calls `work`, which searches a file. Calls it again, a few times, if the file changed meanwhile or another
/// machine has just replaced it.
pub(crate) fn of_one_state<T>(mut work: impl FnMut() -> Result<T, SearchFault>) -> Result<T, SearchFault> {
    let mut patience = Patience::default();
    for _ in 1..MAX_ATTEMPTS {
        match work() {
            // These few pauses are shorter than the total waiting time, so `wait` never returns `false`.
            Err(SearchFault::Skip(Cause::Changed)) => patience.wait(),
            done => return done,
        };
    }
    work()
}

/// Opens a file for a search.
pub(crate) fn open(directory: &Dir, name: &Path) -> io::Result<File> {
    os::open_file_to_read(directory, name)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::read::hash::SMALL;
    use crate::search::matcher::Pattern;
    use crate::search::request::Search;
    use crate::search::tests::settings_of;

    #[test]
    fn a_file_with_another_size_than_it_had_has_changed() {
        let (mut file, stop) = (tempfile::tempfile().unwrap(), AtomicBool::new(false));
        file.write_all(b"text\n").unwrap();
        let pattern = Pattern::of(&Search::new("a")).unwrap();
        let settings = settings_of(&pattern, &stop);
        let mut searcher = FileSearcher::new(settings, [0; 2], SMALL);
        let changed = Err(SearchFault::Skip(Cause::Changed));
        for (size, wanted) in [(4, changed), (5, Ok(5)), (6, changed)] {
            assert_eq!(searcher.read(&file, size), wanted, "{size}");
        }
    }
}
