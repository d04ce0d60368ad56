//! Prepares a new file: chooses its encoding, writes its bytes to a temporary file, and checks that its name
//! is free. [`crate::commit::names`] gives the temporary file its final name later.

use mcp_text_editor_core::diff::{self, Comparison};
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::line::LineNumber;
use mcp_text_editor_core::regions;
use mcp_text_editor_core::rejection::{At, Finding, Rejection, ReportedSlip, TextKind};
use mcp_text_editor_core::resolve::review_new_file;
use mcp_text_editor_core::scan::{Scanned, Scanner};
use mcp_text_editor_core::shown_lines::ShownLines;

use crate::access::windows_paths::in_diff;
use crate::commit::publish_new::{Creation, check_directory, check_free};
use crate::commit::staged::{Arrival, Staged};
use crate::edit::content::kind_of;
use crate::edit::existing::Existing;
use crate::edit::group::NamedFile;
use crate::edit::outcome::{Became, EditProblem, Edited, NOTHING, Reason, Warning};
use crate::edit::request::{EditChange, EditOptions};
use crate::edit::snapshot::{Prepared, Task};
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::history::{EditedFile, Undo};
use crate::workspace::Workspace;

const UTF_8: Label = Label { encoding: Encoding::Utf8, writes_bom: false };

/// Creates the missing directories above the new file, and writes the file under a temporary name in its
/// directory, unless there is a reason against it.
pub(super) fn prepare(task: &mut Task<'_, '_>) -> Result<Result<Prepared, Vec<EditProblem>>, StoreError> {
    let (workspace, group, options) = (task.workspace, task.group, task.options);
    let place = &group.first.place;
    let refuse = |reason| Ok(Err(vec![EditProblem { entry: group.first.entry, reason }]));
    let label = group.label.unwrap_or(UTF_8);
    let bytes = match group.first.edit.change {
        EditChange::Recreate(bytes) => Ok(bytes.to_vec()),
        EditChange::Create(contents) => encoded(contents, label),
        _ => return Ok(Err(Vec::new())),
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(rejection) => return refuse(Reason::Rejected { rejection, digest: None, total_lines: 0 }),
    };
    let size = bytes.len() as u64;
    if size > workspace.max_file_bytes && options.undoes.is_none() {
        return refuse(Reason::TooLarge { bytes: size, becomes: true });
    }
    if group.follows {
        check_directory(place)?;
    } else {
        check_free(place)?;
    }
    let encoding = label.encoding;
    let mut scanner = Scanner::new(Some(encoding));
    scanner.feed(&bytes);
    let (none, scan) = (Scanner::new(Some(encoding)).finish(), scanner.finish());
    let (nothing, file) = (Scanned::new(&[][..], &none), Scanned::new(&*bytes, &scan));
    let region = regions::whole(nothing, file).unwrap_or_else(|never| match never {});
    let mut edited = Edited {
        entry: group.first.entry,
        became: Became::Created,
        digest: Some(scan.digest),
        total_lines: scan.lines.count(),
        replaced: 0,
        comparison: options.compared.map(|most| {
            let compared = Comparison::new(nothing, file, region.as_slice(), most);
            Box::new(Comparison { before: None, ..compared.unwrap_or_else(|never| match never {}) })
        }),
        regions: region.into_iter().collect(),
        diff: None,
        warnings: match group.first.edit.change {
            EditChange::Create(contents) => slips(contents, kind_of(place.path())),
            _ => Vec::new(),
        },
        path: place.path().to_owned(),
        shown: None,
    };
    if options.shown.is_some() {
        let known = ShownLines::of(Some(none.digest)).compare(nothing).unwrap_or_else(|never| match never {});
        let known = known.map(|known| {
            known
                .edited(file, edited.regions.iter().map(|region| (region.lines, region.replaced)))
                .unwrap_or_else(|never| match never {})
        });
        edited.shown = known.flatten().map(|(known, _)| known);
    }
    let diff = |path: &str| {
        let text = diff::between(nothing, file, &edited.regions, [NOTHING, &in_diff(path)]);
        text.unwrap_or_else(|never| match never {})
    };
    if !task.begin()? {
        if options.dry_run {
            (edited.diff, edited.digest) = (Some(diff(group.first.edit.file_path)), None);
        }
        return Ok(Ok(Prepared::told(edited)));
    }
    let mut creation = Creation::begin(place, group.id, 0o666)?;
    creation.temporary_mut().write_all(&bytes).context(Operation::WriteTemporary, place.path())?;
    let kept = workspace.history.keeps_place(place).map(|()| {
        vec![EditedFile {
            path: place.path().to_owned(),
            relative: place.relative().to_owned(),
            encoding,
            before: None,
            after: Some(scan.digest),
            undo: Undo::Remove { directories: creation.directories() },
            diff: diff(&place.path().to_string_lossy()),
        }]
    });
    let to = Some(Arrival::New { creation: creation.into(), digest: scan.digest });
    Ok(Ok(Prepared { edited, staged: Some((Staged::Named { from: None, to }, kept)) }))
}

/// Converts an error to the reason why the file could not be created.
pub(super) fn reason(
    workspace: &Workspace,
    file: &NamedFile<'_>,
    error: StoreError,
    options: EditOptions<'_>,
) -> Reason {
    if error.kind != StoreErrorKind::AlreadyExists {
        return Reason::Store(error);
    }
    let existing = Existing::at(workspace, &file.place, file.edit.encoding, options.cancellation);
    existing.map_or_else(Reason::Store, |existing| Reason::Exists(Box::new(existing)))
}

/// Returns the likely slips in the text of a new file.
fn slips(contents: &str, kind: TextKind) -> Vec<Warning> {
    let found = review_new_file(contents, kind).into_iter();
    let reported = found.map(|Finding { slip, line }| {
        Warning::Text(ReportedSlip { slip, line: LineNumber::from_index(line), more: 0 })
    });
    reported.collect()
}

fn encoded(contents: &str, label: Label) -> Result<Vec<u8>, Rejection> {
    let unencodable = |fault| Rejection::unencodable(At::default(), contents, &fault);
    let bytes = label.encoding.encode(contents).map_err(unencodable)?;
    if label.writes_bom { Ok([label.encoding.bom(), &bytes].concat()) } else { Ok(bytes) }
}
