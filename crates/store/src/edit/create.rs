//! Creating a file: its path, its encoding, its bytes. [`crate::commit::publish_new`] completes it before it has its name.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::diff;
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::regions;
use mcp_text_editor_core::rejection::{At, Rejection};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::scanned::Scanned;

use crate::access::meant::search::{Purpose, Search};
use crate::access::place::WritablePlace;
use crate::access::windows_paths::in_diff;
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::commit::publish_new::{Created, Creation, check_directory};
use crate::commit::transaction::Transaction;
use crate::durability::Durability;
use crate::edit::existing::Existing;
use crate::edit::outcome::{Became, Edited, Outcome};
use crate::edit::problem::Reason;
use crate::edit::request::Options;
use crate::error::{Context as _, Operation, StoreError, StoreErrorKind};
use crate::history::{FileEdit, NewEdit, Undo};
use crate::journal::{Intent, Subject};
use crate::lock::{Backoff, LockTimeout};
use crate::recovery::settle;
use crate::stage::temporary::TemporaryId;
use crate::workspace::Workspace;

const UTF_8: Label = Label { encoding: Encoding::Utf8, writes_bom: false };

/// A file that is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFile<'a> {
    /// Where, as the client named it.
    pub file_path: &'a str,
    /// Its text, line ends and all.
    pub contents: &'a str,
    /// Its encoding, in the client's word.
    pub encoding: Option<&'a str>,
}

/// Creates a file, and the directories above it that are missing; nothing of that name may exist ([`Reason::Exists`]). A dry run
/// only looks.
pub(crate) fn create(
    workspace: &Workspace,
    new: NewFile<'_>,
    options: Options<'_>,
) -> Result<Outcome, Vec<Reason>> {
    let label = new.encoding.map_or(Some(UTF_8), Label::parse);
    let (place, label) = match (workspace.roots.resolve_for_writing(new.file_path), label) {
        (Ok(place), Some(label)) => (place, label),
        (resolved, label) => {
            let search = Search::new(&workspace.roots, Purpose::Creating, options.cancellation);
            let problems = resolved.err().unwrap_or_default().into_iter();
            let problems = problems.map(|problem| Reason::Path(search.of_path(new.file_path, problem)));
            return Err(problems.chain(label.is_none().then_some(Reason::UnknownEncoding)).collect());
        }
    };
    let bytes = encoded(new.contents, label)
        .map_err(|rejection| vec![Reason::Rejected { rejection, digest: None, total_lines: 0 }])?;
    let size = bytes.len() as u64;
    if size > workspace.max_file_bytes {
        return Err(vec![Reason::TooLarge { bytes: size, becomes: true }]);
    }
    let (shown_as, encoding) = (new.file_path, label.encoding);
    let making = Making { workspace, place: &place, bytes: &bytes, encoding, shown_as, options };
    making.carry_out().map_err(|error| {
        vec![match error.kind {
            StoreErrorKind::AlreadyExists => {
                let existing = Existing::at(workspace, &place, new.encoding, options.cancellation);
                existing.map_or_else(Reason::Store, |existing| Reason::Exists(Box::new(existing)))
            }
            _ => Reason::Store(error),
        }]
    })
}

/// A file that is to be there with all of its bytes.
pub(super) struct Making<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) place: &'a WritablePlace,
    pub(super) bytes: &'a [u8],
    /// What the bytes are in.
    pub(super) encoding: Encoding,
    /// The path in the diff of a dry run.
    pub(super) shown_as: &'a str,
    pub(super) options: Options<'a>,
}

impl Making<'_> {
    /// Makes the file, and the directories above it that are missing, or only looks whether it could be made. If something has its name
    /// the error is [`StoreErrorKind::AlreadyExists`].
    pub(super) fn carry_out(self) -> Result<Outcome, StoreError> {
        let Self { workspace, place, bytes, encoding, options, .. } = self;
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(bytes);
        let (none, scan) = (Scanner::new(Some(encoding)).finish(), scanner.finish());
        let (nothing, file) = (Scanned::new(&[][..], &none), Scanned::new(bytes, &scan));
        let region = regions::whole(nothing, file).unwrap_or_else(|never| match never {});
        let mut edited = Edited {
            entry: 0,
            became: Became::Edited,
            digest: Some(scan.digest),
            total_lines: scan.lines.count(),
            regions: region.into_iter().collect(),
            diff: None,
            warnings: Vec::new(),
        };
        let diff = |path: &str| {
            let text = diff::between(nothing, file, &edited.regions, &in_diff(path));
            text.unwrap_or_else(|never| match never {})
        };
        if options.dry_run {
            check_free(place)?;
            (edited.diff, edited.digest) = (Some(diff(self.shown_as)), None);
            return Ok(Outcome { edit_id: None, files: vec![edited] });
        }
        let noted = create_recorded(workspace, place, bytes, options.cancellation, |directories| {
            workspace.history.keeps_place(place)?;
            let created = FileEdit {
                path: place.path().to_owned(),
                relative: place.relative().to_owned(),
                encoding,
                before: None,
                after: Some(scan.digest),
                undo: Undo::Remove { directories: directories.to_vec() },
                diff: diff(&place.path().to_string_lossy()),
            };
            let (tool, undoes) = (options.tool, options.undoes);
            workspace.history.record(&NewEdit { tool, undoes, files: vec![created] })
        })?;
        Ok(Outcome::noted(edited, noted))
    }
}

/// Creates a file, so that recovery finds what is left of it if the process is killed. `note` is called with the
/// directories that were made, while the file is still locked.
fn create_recorded<T>(
    workspace: &Workspace,
    place: &WritablePlace,
    bytes: &[u8],
    cancellation: Cancellation<'_>,
    note: impl FnOnce(&[PathBuf]) -> T,
) -> Result<T, StoreError> {
    place.check_missing(Operation::Create)?;
    let wait = LockTimeout { cancellation, observer: workspace.observer, ..LockTimeout::default() };
    let mut backoff = Backoff::new(&wait);
    let mut attempts = Attempts::new(cancellation);
    let (created, transaction) = loop {
        match make(workspace, place, bytes, cancellation, &mut backoff) {
            Err(error) if attempts.again(&error) => {}
            made => break made?,
        }
    };
    let noted = note(&created.directories);
    drop(transaction);
    drop(created);
    Ok(noted)
}

/// One attempt at it.
fn make<'a>(
    workspace: &'a Workspace,
    place: &WritablePlace,
    bytes: &[u8],
    cancellation: Cancellation<'_>,
    backoff: &mut Backoff<'_>,
) -> Result<(Created, Transaction<'a>), StoreError> {
    settle(workspace, place, backoff)?;
    let sync = workspace.durability == Durability::Machine;
    let above = place.path().ancestors().skip(1).take(place.missing.len());
    let mut directories: Vec<PathBuf> = above.map(Path::to_owned).collect();
    directories.reverse();
    let id = TemporaryId::draw();
    let subject = Subject { path: place.path().to_owned(), id, intent: Intent::Create { directories } };
    let make = || {
        let mut creation = Creation::begin(place, id)?;
        creation.write_all(bytes).context(Operation::WriteTemporary, place.path())?;
        if sync {
            creation.sync()?;
        }
        if cancellation.is_cancelled() {
            return Err(StoreError::new(Operation::Create, place.path(), StoreErrorKind::Cancelled));
        }
        creation.commit(sync)
    };
    let transaction = Transaction::begin(workspace, &[subject]);
    transaction.work(|_| workspace.deferred_close.with_room(make))
}

fn encoded(contents: &str, label: Label) -> Result<Vec<u8>, Rejection> {
    let unencodable = |fault| Rejection::unencodable(At::default(), contents, &fault);
    let bytes = label.encoding.encode(contents).map_err(unencodable)?;
    if label.writes_bom { Ok([label.encoding.bom(), &bytes].concat()) } else { Ok(bytes) }
}

/// Checks that a file can be created, as far as can be seen without trying.
fn check_free(place: &WritablePlace) -> Result<(), StoreError> {
    match place.identity() {
        Err(error) if error.kind == StoreErrorKind::NotFound && !place.is_named_by_link() => {
            check_directory(place)
        }
        Err(error) if error.kind != StoreErrorKind::NotFound => Err(error),
        _ => Err(StoreError::new(Operation::Create, place.path(), StoreErrorKind::AlreadyExists)),
    }
}
