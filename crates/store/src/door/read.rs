//! Reads files: [`Workspace::read`] a whole file or some of its lines, [`Workspace::read_with`] anything
//! else.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::show::{Budget, Shown, show};

use crate::access::place::Place;
use crate::access::suggested::search::{LikelyFiles, Purpose};
use crate::cancellation::Cancellation;
use crate::door::control::Control;
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
    /// Its absolute path, as the client named it.
    pub file_path: &'a str,
    /// The label of its encoding, as the client named it. With `None`, its byte order mark decides; without
    /// one, it is UTF-8.
    pub encoding: Option<&'a str>,
}

impl<'a> ReadFile<'a> {
    /// Makes the request for a file whose encoding is not named.
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
    /// Every reason, at least one.
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
    /// The encoding by which it was read.
    pub encoding: Encoding,
    /// The requested text within the budget, with `\n` for line ends. With it come its digest, and the place
    /// where the text goes on.
    pub shown: Shown,
}

impl Workspace {
    /// Reads a file within the budget: all lines, or a range of them. A range that ends after the last line
    /// is cut to it.
    ///
    /// The budget and 1 MiB bound the memory, whatever the file's size. All that is shown is of one state of
    /// the file.
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

    /// Tells whether lines of a file can be read in a moment: the file has at most 1 MiB, is remembered from
    /// an earlier read, and lies on a file system of this machine, with no link and no mount between it and
    /// its root. Telling this waits for no disk. Returns false where the system cannot tell (only Linux can),
    /// and where each read asks a database.
    ///
    /// The read itself may wait for the disk, if the system no longer has the content in memory. Also, the
    /// file may have been replaced by then. So the caller must bound the read, too.
    #[must_use]
    pub fn is_at_hand(&self, file: ReadFile<'_>) -> bool {
        let label = file.encoding.and_then(Label::parse).map(|label| label.encoding);
        let identity = || self.roots.identity_at_once(Path::new(file.file_path));
        self.shared_journal().is_none()
            && identity().is_some_and(|found| found.size <= SMALL && self.scan_cache.holds(&found, label))
    }

    /// Reads a file once and gives it to `work`. If the file changed meanwhile, `work` is called again, up to
    /// five times in all; for ten seconds with a database, since other machines edit the file, too. Its last
    /// result is of one state of the file. `work` sees only text: for any other file, the reason is
    /// [`Reason::NotText`].
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

    /// Returns the result of a read of a settled state of the file: no call has left it half done, and no
    /// call will take it back. Only a shared journal knows more about this than the file itself shows.
    ///
    /// On a network, a read can take as long as an edit does, and edits of other machines follow each other.
    /// So this begins again not five times, but as long as an edit would wait for its lock.
    fn of_settled<T>(
        &self,
        place: &Place,
        cancellation: Cancellation<'_>,
        read: &mut dyn FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(journal) = self.shared_journal() else { return read() };
        let wait = LockTimeout { cancellation, observer: self.observer, ..LockTimeout::default() };
        let mut backoff = Backoff::new(&wait);
        // The file is opened, since this makes a network file system ask its server.
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
            // The order matters: a call that begins after the question shows in the file's state.
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
