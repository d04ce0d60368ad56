//! Searches a large file in blocks: [`search`].
//!
//! Matches are held back until the whole file is known to be text, since no tool could read a file that is
//! not text. This is known at the end of the file. If too many matches are held back, the rest of the file is
//! checked at once, before the search continues.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use grep_searcher::Searcher;
use mcp_text_editor_core::digest::{Digest, digest_of};
use mcp_text_editor_core::encoding::{CodeUnit, Decoded, Decoder, Encoding, Validator};
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::line_ending::Convention;
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{CHUNK, Source, for_each_chunk};

use crate::os;
use crate::os::identity::Identity;
use crate::search::deliver::{Collector, Emit, SearchFault, SearchSettings, SearchedFile};
use crate::search::request::Match;
use crate::search::skipped::Cause;
use crate::search::stoppable::Stoppable;
use crate::search::text::{LineEnds, TextForm};

/// The number of bytes that are read at a time to find the first line end.
const LOOKED_AT: u64 = 64 * 1024;

/// Searches a large file.
pub(crate) fn search(
    file: &File,
    size: u64,
    settings: SearchSettings<'_>,
    matcher: &Stoppable<'_>,
    searcher: &mut Searcher,
    emit: Emit<'_>,
) -> Result<(), SearchFault> {
    let identity = os::identity_of(file)?;
    let file = Large { file, size, stop: settings.stop };
    let form = TextForm::of(file.read_into(0, &mut [0; 4])?, settings.label);
    let convention = convention(&file, form)?;
    let check = RefCell::new(Check::new(form));
    let mut reader = TextReader::new(&file, form, convention, &check);
    let found = Streamed { file: &file, settings, identity, check: &check, scan: None, emit };
    let mut collector = Collector::new(matcher, settings.max_line_bytes, found);
    let outcome = searcher.search_reader(matcher, &mut reader, &mut collector);
    // The searcher does not report the error that ended the reader, but `check` has stored it.
    if let Some(fault) = check.borrow().fault {
        return Err(fault);
    }
    outcome?;
    collector.finish()?;
    if settings.pattern.is_beyond_ascii {
        check.borrow_mut().finish(&file).map_err(|fault| match fault {
            SearchFault::Skip(Cause::Undecodable) => SearchFault::Skip(Cause::NotDecoded),
            other => other,
        })?;
    }
    Ok(())
}

/// A large file, which is read in blocks.
struct Large<'a> {
    file: &'a File,
    size: u64,
    stop: &'a AtomicBool,
}

impl Source for Large<'_> {
    type Error = SearchFault;

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, SearchFault> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SearchFault::Stop);
        }
        // Bytes that were appended after the file was opened belong to another state of the file, and are not
        // read.
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        Ok(os::read_at(self.file, buffer, offset)?)
    }
}

/// Returns the convention of a file's line ends. Reads a file with one byte per code unit up to the first LF,
/// and any other file to its end.
fn convention(file: &Large<'_>, form: TextForm) -> Result<Convention, SearchFault> {
    if form.encoding.unit() != CodeUnit::Byte {
        let mut scanner = Scanner::without_digest(Some(form.encoding));
        for_each_chunk(file, 0..file.size, |_, chunk| {
            scanner.feed(chunk);
            true
        })?;
        return Ok(scanner.finish().lines.convention());
    }
    let mut has_cr = false;
    let mut buffer = vec![0; usize::try_from(LOOKED_AT).unwrap_or(CHUNK)];
    let mut offset = 0;
    loop {
        let block = file.read_into(offset, &mut buffer)?;
        if memchr::memchr(b'\n', block).is_some() {
            return Ok(Convention::Lf);
        }
        has_cr |= memchr::memchr(b'\r', block).is_some();
        if memchr::memchr(0, block).is_some() {
            return Err(SearchFault::Skip(Cause::Binary));
        }
        if block.is_empty() {
            return Ok(if has_cr { Convention::Cr } else { Convention::Lf });
        }
        offset += block.len() as u64;
    }
}

/// A check that the bytes of a file are text, which is made while they are read.
struct Check {
    /// `None` once the whole file was checked.
    validator: Option<Validator>,
    is_byte: bool,
    /// The offset of the next byte to check.
    offset: u64,
    /// Whether the text that was searched so far differs from the file's bytes.
    is_changed: bool,
    fault: Option<SearchFault>,
}

impl Check {
    fn new(form: TextForm) -> Self {
        Self {
            validator: Some(Validator::new(form.encoding)),
            is_byte: form.encoding.unit() == CodeUnit::Byte,
            offset: form.start as u64,
            is_changed: form.encoding != Encoding::Utf8,
            fault: None,
        }
    }

    /// Checks the next bytes. `has_no_nul` says that these bytes are known to have no NUL.
    fn feed(&mut self, bytes: &[u8], has_no_nul: bool) -> Result<(), SearchFault> {
        self.offset += bytes.len() as u64;
        let Some(validator) = &mut self.validator else { return Ok(()) };
        validator.feed(bytes);
        let is_binary = self.is_byte && !has_no_nul && memchr::memchr(0, bytes).is_some();
        if is_binary { self.fail(SearchFault::Skip(Cause::Binary)) } else { Ok(()) }
    }

    fn fail(&mut self, fault: SearchFault) -> Result<(), SearchFault> {
        self.fault = Some(fault);
        Err(fault)
    }

    /// Checks the rest of the file, which was not read yet.
    fn finish(&mut self, file: &Large<'_>) -> Result<(), SearchFault> {
        if self.validator.is_none() {
            return Ok(());
        }
        let begun = self.offset;
        let mut outcome = Ok(());
        for_each_chunk(file, begun..file.size, |_, chunk| {
            outcome = self.feed(chunk, false);
            outcome.is_ok()
        })?;
        outcome?;
        let is_undecodable = self.validator.take().is_some_and(|validator| validator.finish().is_some());
        let is_short = self.offset != file.size;
        self.offset = begun;
        match (is_short, is_undecodable) {
            (true, _) => self.fail(SearchFault::Skip(Cause::Changed)),
            (_, true) => self.fail(SearchFault::Skip(Cause::Undecodable)),
            _ => Ok(()),
        }
    }
}

/// A reader of the text of a file. A fault ends the text, and is stored in the `fault` of the check.
struct TextReader<'a> {
    file: &'a Large<'a>,
    check: &'a RefCell<Check>,
    ends: LineEnds,
    offset: u64,
    decoding: Option<Decoding>,
    is_over: bool,
}

/// The decoder, and the decoded text that the searcher has not read yet.
struct Decoding {
    decoder: Decoder,
    block: Vec<u8>,
    decoded: Decoded,
    text: Vec<u8>,
    handed_out: usize,
}

impl<'a> TextReader<'a> {
    fn new(file: &'a Large<'a>, form: TextForm, convention: Convention, check: &'a RefCell<Check>) -> Self {
        let offset = form.start as u64;
        let decoding = (form.encoding != Encoding::Utf8).then(|| Decoding {
            decoder: Decoder::new(form.encoding, offset),
            block: vec![0; CHUNK],
            decoded: Decoded::new(),
            text: Vec::new(),
            handed_out: 0,
        });
        let ends = LineEnds::new(convention);
        Self { file, check, ends, offset, decoding, is_over: false }
    }

    /// Reads UTF-8 text directly into the buffer, and returns the number of bytes. A result of 0 means the
    /// end only if `is_over` is set.
    fn read_plain(&mut self, buffer: &mut [u8]) -> Result<usize, SearchFault> {
        if let ([only], true) = (&mut *buffer, self.ends.has_cr()) {
            // The buffer has no room for the byte after the CR that was held back, so that byte is looked at,
            // but not consumed.
            let mut next = [0];
            let is_lf = self.file.read_at(self.offset, &mut next)? > 0 && next == *b"\n";
            self.ends.finish();
            self.check.borrow_mut().is_changed |= is_lf;
            if !is_lf {
                *only = b'\r';
                return Ok(1);
            }
        }
        let held = usize::from(self.ends.has_cr());
        if let (1, Some(first)) = (held, buffer.first_mut()) {
            *first = b'\r';
        }
        let room = buffer.get_mut(held..).unwrap_or_default();
        let block = self.file.read_into(self.offset, room)?;
        let read = block.len();
        // Mostly the block has neither a NUL nor a CR. One pass checks for both.
        let is_plain = memchr::memchr2(0, b'\r', block).is_none();
        self.check.borrow_mut().feed(block, is_plain)?;
        self.offset += read as u64;
        if read == 0 {
            self.is_over = true;
            return Ok(usize::from(self.ends.finish()));
        }
        if is_plain && held == 0 {
            self.check.borrow_mut().is_changed |= self.ends.are_cr();
            return Ok(read);
        }
        let length = self.ends.normalise(buffer.get_mut(..held + read).unwrap_or_default());
        self.check.borrow_mut().is_changed |= length < held + read || self.ends.are_cr();
        Ok(length)
    }

    /// Decodes the next block.
    fn decode(&mut self, decoding: &mut Decoding) -> Result<(), SearchFault> {
        let block = self.file.read_into(self.offset, &mut decoding.block)?;
        self.check.borrow_mut().feed(block, false)?;
        self.offset += block.len() as u64;
        self.is_over = block.is_empty();
        decoding.decoder.feed(block, self.is_over, &mut decoding.decoded);
        if decoding.decoder.failed() {
            return Err(SearchFault::Skip(Cause::NotDecoded));
        }
        decoding.text.clear();
        if self.ends.has_cr() {
            decoding.text.push(b'\r');
        }
        decoding.text.extend_from_slice(decoding.decoded.text.as_bytes());
        let length = self.ends.normalise(&mut decoding.text);
        decoding.text.truncate(length);
        if self.is_over && self.ends.finish() {
            decoding.text.push(b'\r');
        }
        decoding.handed_out = 0;
        Ok(())
    }

    fn read_decoded(&mut self, decoding: &mut Decoding, buffer: &mut [u8]) -> Result<usize, SearchFault> {
        if !self.is_over && decoding.handed_out == decoding.text.len() {
            self.decode(decoding)?;
        }
        let mut rest = decoding.text.get(decoding.handed_out..).unwrap_or_default();
        let length = rest.read(buffer)?;
        decoding.handed_out += length;
        Ok(length)
    }
}

impl Read for TextReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut decoding = self.decoding.take();
        let read = loop {
            let read = match &mut decoding {
                Some(decoding) => self.read_decoded(decoding, buffer),
                None if self.is_over => Ok(0),
                None => self.read_plain(buffer),
            };
            match read {
                Ok(0) if !self.is_over => {}
                read => break read,
            }
        };
        self.decoding = decoding;
        Ok(read.unwrap_or_else(|fault| {
            self.is_over = true;
            self.check.borrow_mut().fault = Some(fault);
            0
        }))
    }
}

/// A large file, as the collector of its matches sees it.
struct Streamed<'a> {
    file: &'a Large<'a>,
    settings: SearchSettings<'a>,
    identity: Identity,
    check: &'a RefCell<Check>,
    /// The scan of the file's lines, made when it is first needed.
    scan: Option<Scan>,
    emit: Emit<'a>,
}

impl Streamed<'_> {
    fn scan(&mut self) -> Result<&Scan, SearchFault> {
        if self.scan.is_none() {
            let mut scanner = Scanner::without_digest(self.settings.label);
            for_each_chunk(self.file, 0..self.file.size, |_, chunk| {
                scanner.feed(chunk);
                true
            })?;
            self.scan = Some(scanner.finish());
        }
        self.scan.as_ref().ok_or(SearchFault::Skip(Cause::Unreadable))
    }
}

impl SearchedFile for Streamed<'_> {
    fn digest(&mut self, lines: LineRange, text: &[u8]) -> Result<Option<Digest>, SearchFault> {
        if !self.settings.hashes {
            return Ok(None);
        }
        if !self.check.borrow().is_changed {
            return Ok(Some(Digest::of(text)));
        }
        let file = self.file;
        let scanned = Scanned::new(file, self.scan()?);
        let bytes = scanned.bytes_of(lines)?;
        // The digest is computed here, not taken from the scan: if the line is the whole file, the scan has
        // no digest of it.
        Ok(Some(digest_of(file, bytes)?))
    }

    fn portion(&mut self, matches: Vec<Match>) -> Result<(), SearchFault> {
        if self.file.size > self.settings.max_file_bytes {
            return Err(SearchFault::Skip(Cause::TooLarge));
        }
        self.check.borrow_mut().finish(self.file)?;
        let is_unchanged = os::identity_of(self.file.file).is_ok_and(|now| now == self.identity);
        if !is_unchanged {
            return Err(SearchFault::Skip(Cause::Changed));
        }
        if self.settings.stop.load(Ordering::Relaxed) || (self.emit)(matches).is_break() {
            return Err(SearchFault::Stop);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::ops::ControlFlow;

    use super::*;
    use crate::search::matcher::Pattern;
    use crate::search::request::Search;
    use crate::search::tests::settings_of;

    /// Calls `work` with a reader of a text. Returns the result of `work`, and the check of the bytes that
    /// were read.
    fn with_reader<T>(text: &str, work: impl FnOnce(TextReader<'_>) -> T) -> (T, Check) {
        let (mut file, stop) = (tempfile::tempfile().unwrap(), AtomicBool::new(false));
        file.write_all(text.as_bytes()).unwrap();
        let file = Large { file: &file, size: text.len() as u64, stop: &stop };
        let form = TextForm::of(b"", None);
        let check = RefCell::new(Check::new(form));
        let done = work(TextReader::new(&file, form, Convention::Lf, &check));
        (done, check.into_inner())
    }

    #[test]
    fn a_text_is_the_same_in_pieces_of_any_size() {
        for (text, wanted) in
            [("b\r", "b\r"), ("b\r\n", "b\n"), ("b\n\r\rb", "b\n\r\rb"), ("\r\r\n\r", "\r\n\r")]
        {
            for size in 1..4 {
                let (given, check) = with_reader(text, |mut reader| {
                    let (mut given, mut piece) = (Vec::new(), [0; 4]);
                    loop {
                        assert_eq!(reader.read(&mut []).unwrap(), 0, "that asks for nothing");
                        match reader.read(&mut piece[..size]).unwrap() {
                            0 => return String::from_utf8(given).unwrap(),
                            read => given.extend(&piece[..read]),
                        }
                    }
                });
                assert_eq!(given, wanted, "{text:?} by {size}");
                assert!(check.is_changed || text == wanted, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn nothing_is_handed_on_once_the_search_is_stopped() {
        let pattern = Pattern::of(&Search::new("a")).unwrap();
        let (outcomes, _) = with_reader("a\n", |reader| {
            let (stop, mut portions) = (AtomicBool::new(false), 0);
            let emit = &mut |_| {
                portions += 1;
                ControlFlow::Continue(())
            };
            let (file, check) = (reader.file, reader.check);
            let settings = settings_of(&pattern, &stop);
            let identity = os::identity_of(file.file).unwrap();
            let mut found = Streamed { file, settings, identity, check, scan: None, emit };
            let first = found.portion(Vec::new());
            stop.store(true, Ordering::Relaxed);
            (first, found.portion(Vec::new()), portions)
        });
        assert_eq!(outcomes, (Ok(()), Err(SearchFault::Stop), 1));
    }

    /// For some files, the kernel reports a size that is larger than the file.
    #[test]
    fn a_file_that_ends_before_its_size_has_changed() {
        let (mut file, stop) = (tempfile::tempfile().unwrap(), AtomicBool::new(false));
        file.write_all(b"text\n").unwrap();
        for (size, wanted) in [(5, Ok(())), (6, Err(SearchFault::Skip(Cause::Changed)))] {
            let file = Large { file: &file, size, stop: &stop };
            assert_eq!(Check::new(TextForm::of(b"text", None)).finish(&file), wanted, "{size}");
        }
    }
}
