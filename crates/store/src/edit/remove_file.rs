//! Prepares the removal of a file: checks that the file has the expected content. [`crate::commit::names`]
//! removes the file later.

use mcp_text_editor_core::diff::{self, Comparison};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::regions::{self, Region};
use mcp_text_editor_core::rejection::{Fit, Rejection};
use mcp_text_editor_core::scan::{Scanned, Scanner};
use mcp_text_editor_core::source::read_range;
use mcp_text_editor_core::splice::{Splice, SpliceSet, Spliced};

use crate::access::place::Place;
use crate::access::windows_paths::in_diff;
use crate::edit::group::Group;
use crate::edit::outcome::{Became, EditProblem, Edited, NOTHING, Reason, Warning};
use crate::edit::request::EditChange;
use crate::edit::snapshot::{Prepared, Task};
use crate::error::{Operation, ReadFault, StoreError};
use crate::history::{EditedFile, NotKept, Undo};
use crate::os::clock::now;
use crate::read::document::{Document, Extent, NotText};

/// Prepares the removal. Checks that the file is text with the digest that the call names or, for an undo,
/// that it has the content that the past edit left. A file counts as text if it contains no NUL byte, or if a
/// byte order mark of UTF-16 or UTF-32 explains its NUL bytes.
pub(super) fn prepare(task: &mut Task<'_, '_>) -> Result<Result<Prepared, Vec<EditProblem>>, StoreError> {
    let (workspace, group, options) = (task.workspace, task.group, task.options);
    let Some(locked) = &group.locked else { return Ok(Err(Vec::new())) };
    let place = &group.first.place;
    let fail = |fault| StoreError::from_fault(Operation::Read, place.path(), fault);
    let began = now();
    let (label, extent, became, warnings) = match group.first.edit.change {
        EditChange::UndoCreate { .. } => {
            let encoding = group.label.map(|label| label.encoding);
            (encoding, Extent::Whole, Became::Edited, vec![Warning::Removed])
        }
        _ => (None, Extent::Text, Became::Removed, Vec::new()),
    };
    let document = Document::of_one_state(locked.file(), label, extent, options.cancellation)?;
    let digest = match check(group, &document).map_err(fail)? {
        Ok(digest) => digest,
        Err(reason) => return Ok(Err(vec![EditProblem { entry: group.first.entry, reason }])),
    };
    place.check_may_go(Operation::Remove)?;
    // A file that cannot be decoded is shown as Latin-1, in which any bytes are text.
    let encoding = match document.scan.undecodable {
        Some(_) => Encoding::Latin1,
        None => document.scan.encoding,
    };
    let removed = if document.scan.undecodable.is_none() {
        removal(&document, encoding, place, options.compared)
    } else {
        let again = Document::new(document.file(), Some(encoding), Extent::Whole, options.cancellation);
        again.and_then(|again| removal(&again, encoding, place, options.compared))
    };
    let (text, comparison) = removed.map_err(fail)?;
    let edited = Edited {
        entry: group.first.entry,
        became,
        digest: options.dry_run.then_some(digest),
        total_lines: 0,
        replaced: 0,
        regions: Vec::new(),
        diff: options.dry_run.then(|| text.clone()),
        comparison,
        warnings,
        path: place.path().to_owned(),
        shown: None,
    };
    if !task.begin()? {
        return Ok(Ok(Prepared::told(edited)));
    }
    let size = document.scan.size;
    let kept = match workspace.history.keeps_place(place) {
        Ok(()) if !task.keeps(size) => Err(NotKept::TooLarge),
        Ok(()) => Ok(vec![EditedFile {
            path: place.path().to_owned(),
            relative: place.relative().to_owned(),
            encoding,
            before: Some(digest),
            after: None,
            undo: Undo::Create { contents: read_range(&document, 0..size).map_err(fail)? },
            diff: text,
        }]),
        Err(reason) => Err(reason),
    };
    let staged = task.depart(locked, (digest, began), None);
    Ok(Ok(Prepared { edited, staged: Some((staged, kept)) }))
}

/// Returns the digest of the file if the file has the required content; otherwise the reason against removing
/// the file.
fn check(group: &Group<'_>, document: &Document<'_>) -> Result<Result<Digest, Reason>, ReadFault> {
    if let EditChange::UndoCreate { after } = group.first.edit.change {
        let digest = document.digest();
        return Ok(digest.filter(|_| digest == after).ok_or(Reason::ChangedSince { digest }));
    }
    if let Some(fault @ NotText::Binary { .. }) = document.not_text()? {
        return Ok(Err(Reason::NotText(fault)));
    }
    let digest = document.scan.digest;
    if group.file_hash.is_some_and(|known| known.matches(&digest)) {
        return Ok(Ok(digest));
    }
    let rejection = Rejection::HashMismatch { actual: digest, fit: Fit::Broken };
    let total_lines = document.scan.lines.count();
    Ok(Err(Reason::Rejected { rejection, digest: Some(digest), total_lines }))
}

/// Returns the diff that removes the whole content of a file, as text and, if `compared` is set, as data.
/// `encoding` is the encoding in which the file was read.
fn removal(
    document: &Document<'_>,
    encoding: Encoding,
    place: &Place,
    compared: Option<usize>,
) -> Result<(String, Option<Box<Comparison>>), ReadFault> {
    let none = Scanner::new(Some(encoding)).finish();
    let everything = SpliceSet::new(vec![Splice { at: 0..document.scan.size, insert: Vec::new() }]);
    let everything = everything.unwrap_or_default();
    let nothing = Spliced::new(document, &everything);
    let (old, new) = (document.scanned(), Scanned::new(&nothing, &none));
    let regions: Vec<Region> = regions::whole(old, new)?.into_iter().collect();
    let comparison = compared.map(|most| Comparison::new(old, new, &regions, most)).transpose()?;
    let comparison = comparison.map(|comparison| Box::new(Comparison { after: None, ..comparison }));
    let path = in_diff(&place.path().to_string_lossy()).into_owned();
    Ok((diff::between(old, new, &regions, [&path, NOTHING])?, comparison))
}
