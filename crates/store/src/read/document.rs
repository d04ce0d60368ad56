//! Reads a file once to make its [`Scan`] (digest, encoding, positions of the lines), and can read its bytes
//! again: [`Document`].

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::encoding::{Encoding, Guesser, Strays, looks_wide, sniff_bom};
use mcp_text_editor_core::line::LineNumber;
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{Source, for_each_chunk, read_range};

use crate::access::place::{OpenFile, Place};
use crate::attempts::{Attempts, MAX_ATTEMPTS};
use crate::cancellation::Cancellation;
use crate::error::{ErrorContext as _, Operation, ReadFault, SpecialFile, StoreError, StoreErrorKind};
use crate::os;
use crate::os::clock::now;
use crate::read::hash::{SMALL, digest_of, read_and_hash};
use crate::read::scan_cache::ScanCache;

/// A file's scan, and access to its bytes. Each read of the bytes first checks whether the call was
/// cancelled. So work on a document soon ends after a cancellation.
#[derive(Debug)]
pub struct Document<'a> {
    file: &'a OpenFile,
    cancellation: Cancellation<'a>,
    /// All bytes if the file is small, otherwise `None`.
    memory: Option<Vec<u8>>,
    /// The hasher that computed the digest, with its midstates. It is empty if the scan came from the cache.
    hasher: Hasher,
    /// Whether it is certain that no program had the file open or mapped for writing. If so, any later write
    /// changes the file's times.
    is_quiet: bool,
    /// The result of the pass over the file. For a large binary file, the pass stops at the first NUL, and
    /// the digest in the scan is not the file's digest. So [`Document::digest`] must be used for comparisons.
    pub scan: Scan,
    /// Whether the pass stopped before the end of the file, because it is binary.
    is_cut: bool,
}

/// The part of a file that is read, depending on whether the file is text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// The whole file if it is text. If a large file turns out to be binary, reading stops there.
    Text,
    /// The whole file, text or not.
    Whole,
}

/// The content that a file had when it was read.
#[derive(Debug)]
pub(crate) enum Content {
    /// All bytes of the content. Comparing bytes is many times faster than hashing them.
    Bytes(Vec<u8>),
    /// The digest of the content.
    Digest(Digest),
}

impl Content {
    /// Tells whether a file has the same content now.
    pub(crate) fn is_in(&self, file: &OpenFile) -> Result<bool, StoreError> {
        match self {
            Self::Bytes(bytes) => {
                let now = read_range(file, 0..bytes.len() as u64).context(Operation::Read, file.path())?;
                Ok(now == *bytes)
            }
            Self::Digest(digest) => Ok(digest_of(file)? == *digest),
        }
    }
}

/// The reason why the bytes of a file are not text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotText {
    /// The file has a NUL byte.
    #[error("the file is binary: it holds a NUL byte at offset {offset}")]
    Binary {
        /// The offset of the first NUL byte.
        offset: u64,
        /// The encoding that would explain the NUL byte; `None` if the bytes do not show one.
        looks_like: Option<Encoding>,
        /// Whether the file's byte order mark names that encoding.
        bom: bool,
    },
    /// The file does not decode.
    #[error("the file does not decode as {}: invalid bytes at offset {offset}, in line {line}", encoding.name())]
    Undecodable {
        /// The offset of the first bytes that do not decode.
        offset: u64,
        /// The line that has these bytes.
        line: LineNumber,
        /// The encoding in which the file was read.
        encoding: Encoding,
        /// Whether the file's byte order mark names that encoding.
        bom: bool,
        /// The encoding that the bytes look like, if there is good evidence; otherwise `None`.
        looks_like: Option<Encoding>,
        /// The bytes that are not UTF-8, if all other bytes are UTF-8; otherwise `None`.
        strays: Option<Strays>,
    },
}

impl NotText {
    /// Returns the encoding in which the file would be text; `None` if its bytes do not show one.
    #[must_use]
    pub fn looks_like(&self) -> Option<Encoding> {
        match self {
            Self::Binary { looks_like, .. } | Self::Undecodable { looks_like, .. } => *looks_like,
        }
    }
}

/// Opens and reads a file, and calls `work` with the document. `label` is the encoding that the client named,
/// if it named one. A file whose scan is in the cache is not scanned again.
///
/// If the file changes meanwhile, starts again. After five attempts, fails with [`StoreErrorKind::Changed`].
pub(crate) fn read<T>(
    cache: &ScanCache,
    place: &Place,
    label: Option<Encoding>,
    cancellation: Cancellation<'_>,
    mut work: impl FnMut(&Document<'_>) -> Result<T, ReadFault>,
) -> Result<T, StoreError> {
    // The number of attempts that read another number of bytes than the file's size, although the file's
    // times did not change. One such attempt proves nothing: the file may have changed and changed back
    // between two ticks of the clock that sets its times.
    let mut unchanged = 0;
    let mut attempts = Attempts::new(cancellation);
    loop {
        let began = now();
        let file = match place.open_file(false) {
            Err(error) if attempts.again(&error) => continue,
            opened => opened?,
        };
        let mut is_whole = true;
        let mut read = || -> Result<Option<T>, ReadFault> {
            let remembered = cache.get(file.identity(), label);
            let is_new = remembered.is_none();
            let document = match remembered {
                Some(scan) => {
                    let hasher = Hasher::default();
                    Document {
                        file: &file,
                        cancellation,
                        memory: None,
                        hasher,
                        is_quiet: false,
                        scan,
                        is_cut: false,
                    }
                }
                None => Document::new(&file, label, Extent::Text, cancellation)?,
            };
            let result = work(&document)?;
            is_whole = document.is_whole();
            if !is_whole || !document.is_current()? {
                return Ok(None);
            }
            if is_new && !document.is_cut {
                cache.put(*file.identity(), label, &document.scan, began);
            }
            Ok(Some(result))
        };
        match read() {
            Ok(Some(result)) => return Ok(result),
            Err(fault) if fault.kind() != StoreErrorKind::Changed && file.is_unchanged().unwrap_or(true) => {
                return Err(StoreError::from_fault(Operation::Read, place.path(), fault));
            }
            Ok(None) if !is_whole && file.is_unchanged().unwrap_or(false) => {
                unchanged += 1;
                if unchanged == MAX_ATTEMPTS || file.identity().has_settled_content(began) {
                    return Err(generated(&file));
                }
            }
            Err(fault) if fault.kind() == StoreErrorKind::Changed => {
                let error = StoreError::from_fault(Operation::Read, place.path(), fault);
                if attempts.again(&error) {
                    continue;
                }
                return Err(error);
            }
            // The file changed, which may also have caused an error.
            Ok(None) | Err(_) => {}
        }
        if !attempts.count() {
            return Err(StoreError::new(Operation::Read, place.path(), StoreErrorKind::Changed));
        }
    }
}

/// Tells whether a file has exactly as many bytes as its size says; `read` is the number of bytes that were
/// read. If the numbers differ although the file did not change, the kernel generates the content when the
/// file is read, often with a size of 0 (proc(5)). No tool can treat such a file as a regular file.
pub(crate) fn has_its_size(file: &File, size: u64, read: u64) -> bool {
    let is_more = || size == 0 && !os::read_at(file, &mut [0], 0).is_ok_and(|read| read == 0);
    read == size && !is_more()
}

/// Returns the error for a file whose content the kernel generates: the file did not change, but has another
/// number of bytes than its size says.
fn generated(file: &OpenFile) -> StoreError {
    let kind = StoreErrorKind::NotARegularFile { what: SpecialFile::Other };
    StoreError::new(Operation::Read, file.path(), kind)
}

impl<'a> Document<'a> {
    /// Reads a file once.
    pub(crate) fn new(
        file: &'a OpenFile,
        label: Option<Encoding>,
        extent: Extent,
        cancellation: Cancellation<'a>,
    ) -> Result<Self, ReadFault> {
        let mut hasher = Hasher::with_midstates(file.size());
        let mut scanner = Scanner::without_digest(label);
        if file.size() <= SMALL {
            let bytes = read_range(file, 0..file.size())?;
            scanner.feed(&bytes);
            hasher.update(&bytes);
            let scan = scanner.finish_with(hasher.digest());
            let (memory, is_quiet) = (Some(bytes), false);
            return Ok(Self { file, cancellation, memory, hasher, is_quiet, scan, is_cut: false });
        }
        let is_quiet = os::is_open_for_writing(file.file()) == Some(false);
        let mut is_cut = false;
        let read = read_and_hash(file, hasher, |bytes| {
            scanner.feed(bytes);
            // A binary file is not read to its end: a sparse file, which is mostly NULs, can have any size.
            is_cut = extent == Extent::Text && scanner.is_binary();
            if is_cut {
                Err(io::Error::from(io::ErrorKind::InvalidData).into())
            } else {
                cancellation.check()
            }
        });
        let hasher = if is_cut { Hasher::default() } else { read? };
        let scan = scanner.finish_with(hasher.digest());
        Ok(Self { file, cancellation, memory: None, hasher, is_quiet, scan, is_cut })
    }

    /// Returns a hasher for new content that equals the old content up to `offset`. The hasher starts from
    /// the last midstate before that offset, so the bytes before the midstate are not hashed again.
    ///
    /// Returns an empty hasher if the file's bytes are not in memory and its times cannot show whether they
    /// are still the bytes that were read at `began`: a program that has mapped the file can write to it
    /// without changing the times.
    pub(crate) fn hasher_before(&self, offset: u64, began: SystemTime) -> Hasher {
        let is_same =
            self.memory.is_some() || (self.is_quiet && self.file.identity().has_settled_content(began));
        if is_same { self.hasher.before(offset) } else { Hasher::default() }
    }

    /// Returns the digest of the file; `None` if the file was not read to its end, because it is large and
    /// binary.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        (!self.is_cut).then_some(self.scan.digest)
    }

    /// Reads a file as [`Document::new`] does, but fails with [`StoreErrorKind::Changed`] if the file changed
    /// meanwhile.
    pub(crate) fn of_one_state(
        file: &'a OpenFile,
        label: Option<Encoding>,
        extent: Extent,
        cancellation: Cancellation<'a>,
    ) -> Result<Self, StoreError> {
        for _ in 0..MAX_ATTEMPTS {
            let began = now();
            let document =
                Self::new(file, label, extent, cancellation).context(Operation::Read, file.path())?;
            if !document.is_current().context(Operation::Read, file.path())? {
                return Err(StoreError::new(Operation::Read, file.path(), StoreErrorKind::Changed));
            }
            if document.is_whole() {
                return Ok(document);
            }
            if file.identity().has_settled_content(began) {
                break;
            }
        }
        Err(generated(file))
    }

    /// Returns the content that the file had when it was read, for a later comparison.
    pub(crate) fn into_content(self) -> Content {
        self.memory.map_or(Content::Digest(self.scan.digest), Content::Bytes)
    }

    /// Returns the file's real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the file from which the document was read.
    pub(crate) fn file(&self) -> &OpenFile {
        self.file
    }

    /// Tells whether the number of bytes that were read is the file's size when it was opened, or the read
    /// was cut short.
    fn is_whole(&self) -> bool {
        self.is_cut || has_its_size(self.file.file(), self.file.size(), self.scan.size)
    }

    /// Tells whether the file has not changed since it was opened.
    fn is_current(&self) -> io::Result<bool> {
        self.file.is_unchanged()
    }

    /// Returns the document and its scan as one value, which the functions of the core crate take.
    #[must_use]
    pub fn scanned(&self) -> Scanned<'_, Self> {
        Scanned::new(self, &self.scan)
    }

    /// Returns the reason why the file is not text; `None` if it is text. Reads the file again to find out
    /// which encoding it looks like.
    pub fn not_text(&self) -> Result<Option<NotText>, ReadFault> {
        if let Some(offset) = self.scan.nul {
            let head = read_range(self, 0..self.size().min(4096))?;
            let marked = sniff_bom(&head);
            let looks_like = marked.or_else(|| looks_wide(&head));
            return Ok(Some(NotText::Binary { offset, looks_like, bom: marked.is_some() }));
        }
        let Some(offset) = self.scan.undecodable else { return Ok(None) };
        let (line, _) = self.scanned().line_at(offset)?;
        let mut guesser = Guesser::new();
        for_each_chunk(self, 0..self.size(), |_, chunk| {
            guesser.feed(chunk);
            true
        })?;
        let (encoding, bom) = (self.scan.encoding, self.scan.bom);
        let strays = guesser.strays().filter(|_| encoding == Encoding::Utf8);
        let looks_like = guesser.finish();
        Ok(Some(NotText::Undecodable { offset, line, encoding, bom, looks_like, strays }))
    }
}

impl Source for Document<'_> {
    type Error = ReadFault;

    fn size(&self) -> u64 {
        self.scan.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadFault> {
        self.cancellation.check()?;
        match &self.memory {
            Some(bytes) => {
                Ok(bytes.as_slice().read_at(offset, buffer).unwrap_or_else(|never| match never {}))
            }
            None => Ok(self.file.read_at(offset, buffer)?),
        }
    }
}
