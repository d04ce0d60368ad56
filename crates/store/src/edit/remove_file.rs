//! Removing a file that holds what is expected of it. [`crate::commit::remove`] carries it out.

use std::path::PathBuf;

use mcp_text_editor_core::diff;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::regions::{self, Region};
use mcp_text_editor_core::rejection::{Fit, Rejection};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::scanned::Scanned;
use mcp_text_editor_core::source::read_range;
use mcp_text_editor_core::splice::{Splice, SpliceSet, Spliced};

use crate::access::meant::search::{Purpose, Search};
use crate::access::place::{Place, WritablePlace};
use crate::access::windows_paths::in_diff;
use crate::attempts::Attempts;
use crate::commit::remove::{Around, Removal, Removed, remove};
use crate::edit::outcome::{Became, Edited, Outcome, Warning};
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::Options;
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
    let expected = Expected::Text(file_hash);
    let removing = Removing { workspace, place, expected, directories: &[], options };
    removing.carry_out().map_err(|reason| problems(vec![*reason]))
}

/// A file that is to go.
pub(super) struct Removing<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) place: WritablePlace,
    pub(super) expected: Expected<'a>,
    /// The directories that were made for it, outermost first; they go with it, as far as nothing else is in them.
    pub(super) directories: &'a [PathBuf],
    pub(super) options: Options<'a>,
}

/// What a file must hold that is to go.
pub(super) enum Expected<'a> {
    /// Text of this digest. One that is not known is refused with the digest.
    Text(Option<&'a DigestPrefix>),
    /// What a past edit has made in this encoding, whatever it is; else it has changed since.
    Left(Option<Digest>, Encoding),
}

impl<'a> Removing<'a> {
    /// Removes the file, or only looks whether it could be removed.
    pub(super) fn carry_out(self) -> Result<Outcome, Box<Reason>> {
        let cancellation = self.options.cancellation;
        let observer = self.workspace.observer;
        let wait = LockTimeout { cancellation, observer, ..LockTimeout::default() };
        let (mut backoff, mut attempts) = (Backoff::new(&wait), Attempts::new(cancellation));
        loop {
            match self.attempt(&mut backoff) {
                Err(reason) if matches!(&*reason, Reason::Store(error) if attempts.again(error)) => {}
                Err(reason) => return Err(reason),
                Ok((outcome, around)) => {
                    drop(self);
                    around.into_iter().for_each(Around::remove);
                    return Ok(outcome);
                }
            }
        }
    }

    fn attempt(&self, backoff: &mut Backoff<'_>) -> Result<(Outcome, Option<Around<'a>>), Box<Reason>> {
        let Self { workspace, place, directories, options, .. } = self;
        let changed = || StoreError::new(Operation::Lock, place.path(), StoreErrorKind::Changed);
        let locked = lock_settled(workspace, &[place], backoff).map_err(|problems| {
            Reason::Store(problems.into_iter().next().map_or_else(changed, |(_, error)| error))
        })?;
        let locked = locked.files.into_iter().next().ok_or_else(|| Reason::Store(changed()))?;
        let began = now();
        let (label, extent, became, warnings) = match self.expected {
            Expected::Text(_) => (None, Extent::Text, Became::Removed, Vec::new()),
            Expected::Left(_, encoding) => {
                (Some(encoding), Extent::Whole, Became::Edited, vec![Warning::Removed])
            }
        };
        let document = Document::of_one_state(locked.file(), label, extent, options.cancellation);
        let document = document.map_err(Reason::Store)?;
        let digest = self.check(&document)?;
        // What does not decode is shown as what any bytes are.
        let encoding = match document.scan.undecodable {
            Some(_) => Encoding::Latin1,
            None => document.scan.encoding,
        };
        let text = self.diff(&document, encoding).map_err(|fault| self.fail(fault))?;
        let mut edited = Edited {
            entry: 0,
            became,
            digest: options.dry_run.then_some(digest),
            total_lines: 0,
            regions: Vec::new(),
            diff: options.dry_run.then(|| text.clone()),
            warnings,
        };
        if options.dry_run {
            return Ok((Outcome { edit_id: None, files: vec![edited] }, None));
        }
        let contents = if document.scan.size <= workspace.max_kept_bytes {
            Ok(read_range(&document, 0..document.scan.size).map_err(|fault| self.fail(fault))?)
        } else {
            Err(NotKept::TooLarge)
        };
        let is_settled = locked.file().identity().has_settled_content(began);
        drop(document);
        edited.warnings.extend((!locked.is_guarded()).then_some(Warning::NotLocked));
        let removal = Removal { place, locked, digest, is_settled, directories };
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

    /// The digest of a file that holds what it must.
    fn check(&self, document: &Document<'_>) -> Result<Digest, Box<Reason>> {
        match self.expected {
            Expected::Left(after, _) => {
                let digest = document.digest();
                Ok(digest.filter(|_| digest == after).ok_or(Reason::ChangedSince { digest })?)
            }
            Expected::Text(file_hash) => {
                let is_text = document.not_text().map_err(|fault| self.fail(fault))?;
                if let Some(fault @ NotText::Binary { .. }) = is_text {
                    return Err(Reason::NotText(fault).into());
                }
                let digest = document.scan.digest;
                if file_hash.is_some_and(|known| known.matches(&digest)) {
                    return Ok(digest);
                }
                let rejection = Rejection::HashMismatch { actual: digest, fit: Fit::Broken };
                let total_lines = document.scan.lines.count();
                Err(Reason::Rejected { rejection, digest: Some(digest), total_lines }.into())
            }
        }
    }

    /// What goes, as a diff.
    fn diff(&self, document: &Document<'_>, encoding: Encoding) -> Result<String, ReadFault> {
        if document.scan.undecodable.is_none() {
            return removal_diff(document, encoding, &self.place);
        }
        let again = Document::new(document.file(), Some(encoding), Extent::Whole, self.options.cancellation)?;
        removal_diff(&again, encoding, &self.place)
    }

    fn fail(&self, fault: ReadFault) -> Reason {
        Reason::Store(StoreError::from_fault(Operation::Read, self.place.path(), fault))
    }
}

/// All of a file that goes, which was read in this encoding.
fn removal_diff(document: &Document<'_>, encoding: Encoding, place: &Place) -> Result<String, ReadFault> {
    let none = Scanner::new(Some(encoding)).finish();
    let everything = SpliceSet::new(vec![Splice { at: 0..document.scan.size, insert: Vec::new() }]);
    let everything = everything.unwrap_or_default();
    let nothing = Spliced::new(document, &everything);
    let (old, new) = (document.scanned(), Scanned::new(&nothing, &none));
    let regions: Vec<Region> = regions::whole(old, new)?.into_iter().collect();
    diff::between(old, new, &regions, &in_diff(&place.path().to_string_lossy()))
}
