//! Reading: [`Workspace::read`] for a whole file or some lines of it, [`Workspace::read_with`] for anything
//! else.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::show::{Budget, Shown, show};

use crate::access::place::Place;
use crate::access::suggested::search::{LikelyFiles, Purpose};
use crate::attempts::Attempts;
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
    /// The label of its encoding, in the client's word; `None`: its byte order mark decides, else UTF-8.
    pub encoding: Option<&'a str>,
}

impl<'a> ReadFile<'a> {
    /// Makes a file whose encoding is not named.
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

/// Some lines of a file, and what the file is.
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
    /// The text that was asked for, as far as the budget went: with `\n` for line ends, its digest, and where
    /// it goes on.
    pub shown: Shown,
}

impl Workspace {
    /// Reads a file: all lines, or those named (a range that ends beyond the last line is cut to it), within
    /// the budget.
    ///
    /// Memory is bounded by the budget and by 1 MiB, whatever the file's size. What is shown is of one state
    /// of the file.
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

    /// Tells whether lines of a file can be read in a moment: it is no longer than 1 MiB, is remembered from
    /// an earlier read, and is on a file system of this machine, with no link and no mount on the way from
    /// its root. To tell it, no disk is waited for. Returns false where the system cannot say so (Linux alone
    /// can), and where each read asks a database.
    ///
    /// The read itself may wait for the disk, if the system no longer has the content in memory. And the file
    /// may be another by then, so that read must be bounded, too.
    #[must_use]
    pub fn is_at_hand(&self, file: ReadFile<'_>) -> bool {
        let label = file.encoding.and_then(Label::parse).map(|label| label.encoding);
        let identity = || self.roots.identity_at_once(Path::new(file.file_path));
        self.shared_journal().is_none()
            && identity().is_some_and(|found| found.size <= SMALL && self.scan_cache.holds(&found, label))
    }

    /// Reads a file once and has `work` look at it. `work` is called again if the file changed meanwhile,
    /// five times at most; what it returned last is of one state of the file. It sees only text: a file that
    /// is none is [`Reason::NotText`].
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

    /// Returns the result of a read, of a state of the file that no call has left half way, and none will
    /// take back. Only a shared journal knows more of that than the file itself shows.
    fn of_settled<T>(
        &self,
        place: &Place,
        cancellation: Cancellation<'_>,
        read: &mut dyn FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.shared_journal().is_none() {
            return read();
        }
        let wait = LockTimeout { cancellation, observer: self.observer, ..LockTimeout::default() };
        let (mut backoff, mut attempts) = (Backoff::new(&wait), Attempts::new(cancellation));
        // Opened, since a network file system asks the server then.
        let state = || {
            let file = place.open_file(false).ok()?;
            let has_several_names = os::links_of(file.file(), file.metadata()) > 1;
            Some((*file.identity(), has_several_names))
        };
        loop {
            let before = state();
            let several_names = before.filter(|before| before.1).map(|(identity, _)| identity.key());
            let done = read();
            // In this order: what is begun after it was asked shows in the file.
            if is_settled(self, place, several_names, &mut backoff)? && state() == before {
                return done;
            }
            if !attempts.count() {
                return Err(StoreError::new(Operation::Read, place.path(), StoreErrorKind::Changed));
            }
        }
    }
}
