//! Reads files: [`Workspace::read`] returns a whole file or some of its lines, and [`Workspace::read_with`]
//! calls a function with the file.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::show::{Budget, Shown, show};

use crate::access::place::Place;
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::cancellation::Cancellation;
use crate::door::edit::Control;
use crate::edit::Reason;
use crate::error::{Operation, ReadFault, StoreError, StoreErrorKind};
use crate::lock::{Backoff, LockTimeout};
use crate::os;
use crate::read::document::{Document, read};
use crate::read::hash::SMALL;
use crate::recovery::is_settled;
use crate::workspace::Workspace;

/// A file that is to be read.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile<'a> {
    /// The file's absolute path, as the client wrote it.
    pub file_path: &'a str,
    /// The label (name) of the file's encoding, as the client wrote it. With `None`, the file's byte order
    /// mark decides; a file without such a mark is read as UTF-8.
    pub encoding: Option<&'a str>,
}

impl<'a> ReadFile<'a> {
    /// Returns the request for a file without a label for its encoding.
    #[must_use]
    pub fn new(file_path: &'a str) -> Self {
        Self { file_path, encoding: None }
    }
}

/// The reasons why a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{}", crate::edit::Reason::listed(problems))]
pub struct ReadError {
    /// All reasons, at least one.
    pub problems: Vec<Reason>,
}

impl From<Reason> for ReadError {
    fn from(problem: Reason) -> Self {
        Self { problems: vec![problem] }
    }
}

/// Some lines of a file, and facts about the file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileView {
    /// The digest of the file's bytes.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The number of lines.
    pub total_lines: u64,
    /// The encoding in which the file was read.
    pub encoding: Encoding,
    /// The requested text within the budget, with `\n` for line ends, its digest, and the position where the
    /// text continues if it was cut.
    pub shown: Shown,
}

impl Workspace {
    /// Reads a file within the budget: all lines, or a range of them. A range that ends after the last line
    /// is cut off there.
    ///
    /// The memory is at most the budget plus 1 MiB, whatever the file's size. The whole result comes from one
    /// state of the file.
    pub fn read(
        &self,
        file: ReadFile<'_>,
        lines: Option<LineRange>,
        budget: Budget,
        control: Control<'_>,
    ) -> Result<FileView, ReadError> {
        self.read_with(file, control, |document| {
            let scan = &document.scan;
            let total = scan.lines.count();
            let lines = match lines {
                None => scan.lines.all(),
                Some(lines) => {
                    let start = lines.start().get().min(total + 1);
                    LineRange::new(
                        LineNumber::from_index(start - 1),
                        lines.end().min(total).saturating_sub(start - 1),
                    )
                }
            };
            let (shown, _) = show(document.scanned(), lines, 1, budget)?;
            let (digest, size, encoding) = (scan.digest, scan.size, scan.encoding);
            Ok(FileView { digest, size, total_lines: total, encoding, shown })
        })
    }

    /// Tells whether lines of a file can be read almost at once: the file has at most 1 MiB, its scan
    /// (digest, encoding, positions of the lines) is in the cache from an earlier read, and it is on a local
    /// file system, with no symbolic link and no mount between it and its root. The check itself does not
    /// wait for a disk. Returns `false` if the system cannot tell (only Linux can), or if each read queries a
    /// database.
    ///
    /// The read itself may still wait for the disk, if the system no longer has the content in memory, or if
    /// the file is replaced meanwhile. So the caller must also limit the time of the read.
    #[must_use]
    pub fn is_at_hand(&self, file: ReadFile<'_>) -> bool {
        let label = file.encoding.and_then(Label::parse).map(|label| label.encoding);
        let identity = || self.roots.identity_at_once(Path::new(file.file_path));
        self.shared_journal().is_none()
            && identity().is_some_and(|found| found.size <= SMALL && self.scan_cache.holds(&found, label))
    }

    /// Reads a file and passes it to `work`. If the file changes meanwhile, `work` is called again, up to
    /// five times in all; with a shared database, for up to ten seconds, since other machines also edit the
    /// file. The last result, which is returned, comes from one state of the file. `work` gets only text: for
    /// any other file, the error is [`Reason::NotText`].
    pub fn read_with<T>(
        &self,
        file: ReadFile<'_>,
        control: Control<'_>,
        mut work: impl FnMut(&Document<'_>) -> Result<T, ReadFault>,
    ) -> Result<T, ReadError> {
        let label = file.encoding.map(Label::parse);
        let search = LikelyFiles::new(&self.roots, Purpose::Reading, control.cancellation);
        let (place, label) = match (self.roots.resolve(file.file_path), label) {
            (Ok(place), Some(Some(label))) => (place, Some(label.encoding)),
            (Ok(place), None) => (place, None),
            (place, label) => {
                let problems = place.err().unwrap_or_default().into_iter();
                let problems = problems.map(|problem| Reason::Path(search.of_path(file.file_path, problem)));
                let unknown = matches!(label, Some(None)).then_some(Reason::UnknownEncoding);
                return Err(ReadError { problems: problems.chain(unknown).collect() });
            }
        };
        let mut again = || {
            read(&self.scan_cache, &place, label, control.cancellation, |document| {
                match document.not_text()? {
                    Some(fault) => Ok(Err(fault)),
                    None => work(document).map(Ok),
                }
            })
        };
        let done = self.of_settled(&place, control.cancellation, &mut again);
        let done = done.map_err(|error| Reason::Store(search.of_error(file.file_path, error)));
        done?.map_err(|fault| Reason::NotText(fault).into())
    }

    /// Returns the result of reading a settled state of the file: no call has changed it only partly, and no
    /// call will still roll it back. Without a shared journal, every state that can be read counts as
    /// settled.
    ///
    /// On a network, a read can take as long as an edit, and edits of other machines can follow one another.
    /// So this function retries not just five times, but for as long as an edit would wait for its lock.
    fn of_settled<T>(
        &self,
        place: &Place,
        cancellation: Cancellation<'_>,
        read: &mut dyn FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(journal) = self.shared_journal() else { return read() };
        let wait = LockTimeout { cancellation, observer: self.observer, ..LockTimeout::default() };
        let mut backoff = Backoff::new(&wait);
        // The file is opened, because that makes a network file system ask its server.
        let state = || {
            let file = place.open_file(false).ok()?;
            let has_several_names = os::links_of(file.file(), file.metadata()) > 1;
            Some((*file.identity(), has_several_names))
        };
        loop {
            let before = state();
            let several_names = before.filter(|before| before.1).map(|(identity, _)| identity.file_key());
            let done = read();
            let has_changed = matches!(&done, Err(error) if error.kind == StoreErrorKind::Changed);
            // The order matters: a call that begins after the query of the journal is detected, because it
            // changes the file's state.
            if !has_changed
                && is_settled(self, journal, place, several_names, &mut backoff)?
                && state() == before
            {
                return done;
            }
            backoff.pause().map_err(|kind| {
                let kind = if kind == StoreErrorKind::Busy { StoreErrorKind::Changed } else { kind };
                StoreError::new(Operation::Read, place.path(), kind)
            })?;
        }
    }
}
