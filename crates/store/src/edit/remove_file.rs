//! Removing a text file whose digest is known. [`crate::commit::remove`] carries it out.

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::rejection::{Fit, Rejection};
use mcp_text_editor_core::source::read_range;

use crate::access::meant::search::{Purpose, Search};
use crate::access::place::WritablePlace;
use crate::attempts::Attempts;
use crate::commit::remove::{Around, Removal, Removed, remove};
use crate::edit::outcome::{Became, Edited, Outcome, Warning};
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::Options;
use crate::edit::whole_diff::removal_diff;
use crate::error::{Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{FileEdit, NewEdit, NotKept, Undo};
use crate::lock::{Backoff, LockTimeout};
use crate::os::clock::now;
use crate::read::document::{Document, Extent, NotText};
use crate::recovery::lock_settled;
use crate::workspace::Workspace;

/// Removes a file that is text and has this digest. Any file is text that holds no NUL byte, or in which a byte order mark of UTF-16
/// or UTF-32 explains those that it holds.
pub(crate) fn remove_file(
    workspace: &Workspace,
    file_path: &str,
    file_hash: Option<&DigestPrefix>,
    options: Options<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let search = Search::new(&workspace.roots, Purpose::Editing, options.cancellation);
    let problems = |reasons: Vec<Reason>| {
        let named = reasons.into_iter().map(|reason| match reason {
            Reason::Path(problem) => Reason::Path(search.of_path(file_path, problem)),
            Reason::Store(error) => Reason::Store(search.of_error(file_path, error)),
            other => other,
        });
        named.map(|reason| EditProblem { entry: 0, reason }).collect::<Vec<_>>()
    };
    let place = workspace.roots.resolve_for_writing(file_path);
    let place = place.map_err(|found| problems(found.into_iter().map(Reason::Path).collect()))?;
    if place.is_named_by_link() {
        return Err(problems(vec![Reason::IsALink { target: place.path().to_owned() }]));
    }
    let wait = LockTimeout {
        cancellation: options.cancellation,
        observer: workspace.observer,
        ..LockTimeout::default()
    };
    let mut backoff = Backoff::new(&wait);
    let work = Work { workspace, place: &place, file_hash, options };
    let mut attempts = Attempts::new(options.cancellation);
    loop {
        match work.attempt(&mut backoff) {
            Err(reason) if matches!(&*reason, Reason::Store(error) if attempts.again(error)) => {}
            Err(reason) => return Err(problems(vec![*reason])),
            Ok((outcome, around)) => {
                drop(place);
                around.into_iter().for_each(Around::remove);
                return Ok(outcome);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Work<'a, 'p> {
    workspace: &'a Workspace,
    place: &'p WritablePlace,
    file_hash: Option<&'p DigestPrefix>,
    options: Options<'p>,
}

impl<'a> Work<'a, '_> {
    fn attempt(self, backoff: &mut Backoff<'_>) -> Result<(Outcome, Option<Around<'a>>), Box<Reason>> {
        let Self { workspace, place, options, .. } = self;
        let changed = || StoreError::new(Operation::Lock, place.path(), StoreErrorKind::Changed);
        let locked = lock_settled(workspace, &[place], backoff).map_err(|problems| {
            Reason::Store(problems.into_iter().next().map_or_else(changed, |(_, error)| error))
        })?;
        let locked = locked.files.into_iter().next().ok_or_else(|| Reason::Store(changed()))?;
        let fail =
            |fault: ReadFault| Reason::Store(StoreError::from_fault(Operation::Read, place.path(), fault));
        let began = now();
        let document = Document::of_one_state(locked.file(), None, Extent::Text, options.cancellation);
        let document = document.map_err(Reason::Store)?;
        if let Some(fault @ NotText::Binary { .. }) = document.not_text().map_err(fail)? {
            return Err(Reason::NotText(fault).into());
        }
        let digest = document.scan.digest;
        if !self.file_hash.is_some_and(|known| known.matches(&digest)) {
            let rejection = Rejection::HashMismatch { actual: digest, fit: Fit::Broken };
            let total_lines = document.scan.lines.count();
            return Err(Reason::Rejected { rejection, digest: Some(digest), total_lines }.into());
        }
        // What does not decode is shown as what any bytes are.
        let encoding = match document.scan.undecodable {
            Some(_) => Encoding::Latin1,
            None => document.scan.encoding,
        };
        let text = self.diff(&document, encoding).map_err(fail)?;
        let mut edited = Edited {
            entry: 0,
            became: Became::Removed,
            digest: options.dry_run.then_some(digest),
            total_lines: 0,
            regions: Vec::new(),
            diff: options.dry_run.then(|| text.clone()),
            warnings: Vec::new(),
        };
        if options.dry_run {
            return Ok((Outcome { edit_id: None, files: vec![edited] }, None));
        }
        let contents = if document.scan.size <= workspace.max_kept_bytes {
            Ok(read_range(&document, 0..document.scan.size).map_err(fail)?)
        } else {
            Err(NotKept::TooLarge)
        };
        let is_settled = locked.file().identity().has_settled_content(began);
        drop(document);
        edited.warnings.extend((!locked.is_guarded()).then_some(Warning::NotLocked));
        let removal = Removal { place, locked, digest, is_settled, directories: &[] };
        let remember = || {
            workspace.history.keeps_place(place)?;
            let file = FileEdit {
                path: place.path().to_owned(),
                relative: place.relative().to_owned(),
                encoding,
                before: Some(digest),
                after: None,
                undo: Undo::Create { contents: contents? },
                diff: text,
            };
            let (tool, undoes) = (options.tool, options.undoes);
            workspace.history.record(&NewEdit { tool, undoes, files: vec![file] })
        };
        let removed = remove(workspace, removal, options.cancellation, remember);
        let Removed { noted, was_recorded, around } = removed.map_err(Reason::Store)?;
        edited.warnings.extend((!was_recorded).then_some(Warning::NoJournal));
        Ok((Outcome::noted(edited, noted), Some(around)))
    }

    /// What goes, as a diff.
    fn diff(self, document: &Document<'_>, encoding: Encoding) -> Result<String, ReadFault> {
        if document.scan.undecodable.is_none() {
            return removal_diff(document, encoding, self.place);
        }
        let again = Document::new(document.file(), Some(encoding), Extent::Whole, self.options.cancellation)?;
        removal_diff(&again, encoding, self.place)
    }
}
