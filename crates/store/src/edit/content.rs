//! Prepares new content for a file: determines the replacements, and writes the new content to a temporary
//! file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::matching::{Tier, whole_text};
use mcp_text_editor_core::preview::Preview;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::rejection::{At, Rejection, TextKind};
use mcp_text_editor_core::resolve::{self, MatchOptions, Plan, Resolution, SpliceInfo};
use mcp_text_editor_core::scan::{Scanned, Scanner};
use mcp_text_editor_core::shown_lines::{Changes, Compared, ShownLines};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;

use crate::access::windows_paths::in_diff;
use crate::cancellation::Cancellation;
use crate::commit::in_place::InPlace;
use crate::commit::publish_new::Creation;
use crate::commit::staged::{Arrival, NewContent, Replacement, Staged};
use crate::durability::Durability;
use crate::edit::group::{Group, MoveTarget};
use crate::edit::move_file::{self, Arriving, moved_rows, renamed};
use crate::edit::outcome::{Became, EditProblem, Edited, Reason, Warning};
use crate::edit::request::{EditChange, EditOptions, Memory, Replace};
use crate::edit::snapshot::{Prepared, Task};
use crate::error::{ErrorContext as _, Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{EditedFile, NotKept, Undo};
use crate::lock::LockedFile;
use crate::os::clock::now;
use crate::os::inode_flags::Lost;
use crate::read::document::{Document, Extent};
use crate::read::hash::{SMALL, read_and_hash};
use crate::stage::Temporary;

/// Reads the file, determines the replacements, and writes the new content to a temporary file, which is
/// beside the file or, if the file is moved, at its new place. Writes nothing if there is a reason against
/// the edit.
pub(super) fn prepare(task: &mut Task<'_, '_>) -> Result<Result<Prepared, Vec<EditProblem>>, StoreError> {
    let (workspace, group, options) = (task.workspace, task.group, task.options);
    let refuse = |reason| Ok(Err(vec![EditProblem { entry: group.first.entry, reason }]));
    let Some(locked) = &group.locked else { return Ok(Err(Vec::new())) };
    let file = locked.file();
    let bytes = file.size();
    if bytes > workspace.max_file_bytes {
        return refuse(Reason::TooLarge { bytes, becomes: false });
    }
    let began = now();
    let extent = match group.first.edit.change {
        EditChange::Restore { .. } => Extent::Whole,
        _ => Extent::Text,
    };
    let encoding = group.label.map(|label| label.encoding);
    let document = Document::of_one_state(file, encoding, extent, options.cancellation)?;
    let known = known(group, &document, options)?;
    let plan = match plan(group, &document, options, known.as_ref())? {
        Ok(plan) => plan,
        Err(reasons) => return Ok(Err(reasons)),
    };
    let new_size = Spliced::new(&document, &plan.splices).size();
    if new_size > workspace.max_file_bytes {
        return refuse(Reason::TooLarge { bytes: new_size, becomes: true });
    }
    let arriving = match &group.destination {
        // The content stays the same, so the file is only moved.
        MoveTarget::Elsewhere(_) if plan.unchanged => return move_file::prepare(task),
        MoveTarget::Elsewhere(target) => match Arriving::at(task, target)? {
            Ok(arriving) => Some(arriving),
            Err(reason) => return refuse(reason),
        },
        _ => None,
    };
    let write = !plan.unchanged && task.begin()?;
    let work =
        Work { locked, document: &document, plan: &plan, new_size, began, arriving: arriving.as_ref() };
    let mut prepared = work.carry_out(task, write, known)?;
    if let Some((Staged::Replaced(replacement), _)) = &mut prepared.staged {
        let is_settled = file.identity().has_settled_content(began);
        replacement.content.unsettled = (!is_settled).then(|| task.staging.bounded(document.into_content()));
    }
    Ok(Ok(prepared))
}

/// Returns the replacements in a file, or every reason against them. `known` says which of the file's lines
/// the client knows.
fn plan(
    group: &Group<'_>,
    document: &Document<'_>,
    options: EditOptions<'_>,
    known: Option<&Compared>,
) -> Result<Result<Plan, Vec<EditProblem>>, StoreError> {
    if let EditChange::Restore { after, splices } = group.first.edit.change {
        let digest = document.digest();
        if digest != Some(after) {
            let reason = Reason::ChangedSince { digest };
            return Ok(Err(vec![EditProblem { entry: group.first.entry, reason }]));
        }
        let facts = vec![SpliceInfo::of(Tier::Exact); splices.as_slice().len()];
        let splices = splices.clone();
        return Ok(Ok(Plan { splices, facts, adds_final_newline: false, unchanged: false }));
    }
    if let Some(fault) = document.not_text().context(Operation::Read, group.first.place.path())? {
        return Ok(Err(vec![EditProblem { entry: group.first.entry, reason: Reason::NotText(fault) }]));
    }
    let (file, hash) = (document.scanned(), group.file_hash);
    let review = Some(kind_of(group.first.place.path()));
    let resolution = match group.first.edit.change {
        EditChange::Patch(_) => {
            let options = MatchOptions { review, ..options.matching };
            resolve::patch(file, hash, &group.patches, options)
        }
        EditChange::Append(contents) => resolve::append(file, hash, contents, review),
        EditChange::Insert(contents, position) => resolve::insert(file, hash, contents, position, review),
        EditChange::Delete(ranges) => resolve::delete(file, hash, ranges),
        EditChange::Rearrange(edits) => resolve::rearrange(file, hash, edits, options.matching.max_inserted),
        EditChange::Replace(replace) => {
            return replaced(group, document, options, replace);
        }
        // `Restore` was handled above, and the remaining changes have no new content.
        _ => return Ok(Err(Vec::new())),
    };
    let path = group.first.place.path();
    let mut resolution: Resolution = resolution.context(Operation::Read, path)?;
    if let (Ok(plan), Some(known), None) = (&resolution, known, group.file_hash) {
        let changed = resolve::unless_changed(file, plan, known).context(Operation::Read, path)?;
        if !changed.is_empty() {
            resolution = Err(changed);
        }
    }
    Ok(resolution.map_err(|rejections| refused(group, file, rejections)))
}

/// Returns the replacements of all matches in a file, or the reason against them.
fn replaced(
    group: &Group<'_>,
    document: &Document<'_>,
    options: EditOptions<'_>,
    replace: &dyn Replace,
) -> Result<Result<Plan, Vec<EditProblem>>, StoreError> {
    let (file, path) = (document.scanned(), group.first.place.path());
    let entry = group.first.entry;
    let too_long = || Ok(Err(vec![EditProblem { entry, reason: Reason::TooLong }]));
    if document.size() > replace.most_bytes() {
        return too_long();
    }
    let MatchOptions { max_occurrences, max_inserted: most_bytes, .. } = options.matching;
    // The limit applies to all files together, because the replaced places of all files are in memory.
    let most = max_occurrences.saturating_sub(options.replaced);
    let text = whole_text(file).context(Operation::Read, path)?;
    let matched = replace.replace(&text, most, most_bytes, options.cancellation);
    let Some(matched) = matched.context(Operation::Read, path)? else { return too_long() };
    let at = At::default();
    let resolution = if matched.count > most {
        let count = options.replaced.saturating_add(matched.count);
        Err(vec![Rejection::TooManyOccurrences { at, count, most: max_occurrences }])
    } else if matched.bytes > most_bytes {
        Err(vec![Rejection::TooMuchText { at, bytes: matched.bytes, most: most_bytes }])
    } else {
        resolve::replace(file, matched.places).context(Operation::Read, path)?
    };
    Ok(resolution.map_err(|rejections| refused(group, file, rejections)))
}

/// Returns the reasons why a request does not fit a file.
fn refused(
    group: &Group<'_>,
    file: Scanned<'_, Document<'_>>,
    rejections: Vec<Rejection>,
) -> Vec<EditProblem> {
    let refusals = rejections.into_iter().map(|mut rejection| {
        let entry = group.origin(&mut rejection);
        let (digest, total_lines) = (Some(file.scan.digest), file.scan.lines.count());
        EditProblem { entry, reason: Reason::Rejected { rejection, digest, total_lines } }
    });
    refusals.collect()
}

/// Compares the lines that the client was shown with the file's present lines. Returns `None` if the server
/// does not remember any.
fn known(
    group: &Group<'_>,
    document: &Document<'_>,
    options: EditOptions<'_>,
) -> Result<Option<Compared>, StoreError> {
    let (Some(Memory(shown)), path) = (options.shown, group.first.place.path()) else { return Ok(None) };
    let shown = shown(path).unwrap_or_else(|| ShownLines::of(Some(document.scan.digest)));
    shown.compare(document.scanned()).context(Operation::Read, path)
}

/// The planned change of one file, before it is written.
#[derive(Clone, Copy)]
struct Work<'a> {
    locked: &'a Arc<LockedFile>,
    document: &'a Document<'a>,
    plan: &'a Plan,
    /// The size in bytes of the new content.
    new_size: u64,
    /// The time right before the document was read.
    began: SystemTime,
    /// The new place, if the file is moved.
    arriving: Option<&'a Arriving<'a>>,
}

/// New content that is being written: beside the file, or at its new place.
enum Making {
    Beside(Temporary),
    Elsewhere(Box<Creation>),
}

impl Making {
    fn temporary(&mut self) -> &mut Temporary {
        match self {
            Self::Beside(temporary) => temporary,
            Self::Elsewhere(creation) => creation.temporary_mut(),
        }
    }
}

impl Work<'_> {
    /// Writes the new content if `write` is set. Returns the file's result and, if the content was written,
    /// the change that is ready to be committed.
    fn carry_out(
        self,
        task: &mut Task<'_, '_>,
        write: bool,
        known: Option<Compared>,
    ) -> Result<Prepared, StoreError> {
        let Self { document, plan, new_size, began, .. } = self;
        let (group, options) = (task.group, task.options);
        let path = group.first.place.path();
        let sync = task.workspace.durability == Durability::Machine;
        let (mut making, mut lost) = (None, Lost::default());
        if write {
            let made = if let Some(arriving) = self.arriving {
                Making::Elsewhere(arriving.begin_copy(document.file())?.into())
            } else {
                let most = new_size.max(document.size());
                let state = task.workspace.content_dir();
                Making::Beside(Temporary::create_anywhere(&group.first.place, group.id, most, state)?)
            };
            let made = making.insert(made).temporary();
            if made.is_in_same_directory() {
                lost = made.keep_flags(document.file());
            }
        }
        let preview = Preview::read_by(document.scanned(), plan, |new, scanner| {
            let same = plan.splices.as_slice().first().map_or(0, |splice| splice.at.start);
            let hasher = document.hasher_before(same, began);
            let temporary = making.as_mut().map(Making::temporary);
            copy(new, hasher, scanner, temporary, sync, options.cancellation)
        });
        let preview = preview.map_err(|fault| {
            // If the disk is full, the error names the temporary file, which may be on another disk than the
            // file.
            let elsewhere = making.as_mut().map(Making::temporary).filter(|temporary| {
                let has_no_room =
                    matches!(fault.kind(), StoreErrorKind::NoSpace | StoreErrorKind::FileTooLarge);
                has_no_room && !temporary.is_in_same_directory()
            });
            let path = elsewhere.map_or(path, |temporary| temporary.path());
            StoreError::from_fault(Operation::WriteTemporary, path, fault)
        })?;
        let edited = self.told(&preview, group, options, known)?;
        let mut prepared = Prepared::told(edited);
        let Some(making) = making else { return Ok(prepared) };
        let warnings = &mut prepared.edited.warnings;
        let (old, new) = (document.scan.digest, preview.new_file().scan.digest);
        let (staged, directories) = match making {
            Making::Beside(temporary) => {
                let in_place = self.in_place(group, &temporary)?;
                let lost = (in_place.is_none() && !lost.is_nothing()).then_some(Warning::FlagsNotKept(lost));
                warnings.extend(in_place.map(Warning::EditedInPlace).or(lost));
                // The caller sets `unsettled`: it owns the document, so only the caller can move the content
                // out of the document.
                let content = NewContent { temporary, in_place, old, new, unsettled: None };
                let (place, locked) = (group.first.place.clone(), self.locked.clone());
                (Staged::Replaced(Replacement { place, content, locked }), None)
            }
            Making::Elsewhere(creation) => {
                let copied = Arriving::complete(&creation, document.file(), lost)?;
                warnings.extend(copied.lacks_something().then_some(Warning::Rewritten(copied)));
                let directories = creation.directories();
                let to = Arrival::New { creation, digest: new };
                (task.depart(self.locked, (old, began), Some(to)), Some(directories))
            }
        };
        let kept = self.kept(task, &preview, &prepared.edited.regions, directories)?;
        prepared.staged = Some((staged, kept));
        Ok(prepared)
    }

    /// Returns the result for the file, which the reply reports.
    fn told(
        self,
        preview: &Preview<'_, Document<'_>>,
        group: &Group<'_>,
        options: EditOptions<'_>,
        known: Option<Compared>,
    ) -> Result<Edited, StoreError> {
        let (scan, path) = (preview.new_file().scan, group.first.place.path());
        let became = match group.first.edit.move_to {
            Some(_) => Became::Moved { from: group.first.edit.file_path.to_owned() },
            None => Became::Edited,
        };
        let mut edited = Edited {
            entry: group.first.entry,
            became,
            digest: Some(scan.digest),
            total_lines: scan.lines.count(),
            replaced: match group.first.edit.change {
                EditChange::Replace(_) => self.plan.splices.as_slice().len() as u64,
                _ => 0,
            },
            regions: preview.regions().context(Operation::Read, path)?,
            diff: None,
            comparison: None,
            warnings: Vec::new(),
            path: self.arriving.map_or(path, |arriving| arriving.to.path()).to_owned(),
            shown: None,
        };
        if let Some(known) = known {
            let before = known.is_changed().then(|| known.changes());
            let after = known
                .edited(
                    preview.new_file(),
                    edited.regions.iter().map(|region| (region.lines, region.replaced)),
                )
                .context(Operation::Read, path)?;
            if let Some((shown, changes)) = after {
                edited.shown = Some(shown);
                // No warning is needed if the edit itself replaces all changes by others.
                let is_told = before.is_some_and(|before| changes != Changes::default() || before == changes);
                edited.warnings.extend(is_told.then_some(Warning::ChangedByOthers(changes)));
            }
        }
        if let Some(most) = options.compared {
            let comparison = preview.comparison(&edited.regions, most).context(Operation::Read, path)?;
            edited.comparison = Some(Box::new(comparison));
        }
        if self.plan.unchanged {
            edited.warnings.push(Warning::Unchanged);
        }
        if self.plan.adds_final_newline {
            edited.warnings.push(Warning::FinalNewlineAdded);
        }
        let slips = preview.slips().context(Operation::Read, path)?;
        edited.warnings.extend(slips.into_iter().map(Warning::Text));
        if options.dry_run || options.shows_diff {
            let from = &group.first.edit.file_path;
            let paths = [from, group.first.edit.move_to.as_ref().unwrap_or(from)].map(|path| in_diff(path));
            let text = preview
                .diff(&edited.regions, paths.each_ref().map(|path| &**path))
                .context(Operation::Read, path)?;
            let from =
                group.first.edit.move_to.map(|to| renamed(group.first.edit.file_path.as_ref(), to.as_ref()));
            edited.diff = Some(from.unwrap_or_default() + &text);
            if options.dry_run {
                edited.digest = Some(self.document.scan.digest);
            }
        }
        Ok(edited)
    }

    /// Returns the reason why the file must be overwritten in place, if there is one. Otherwise copies the
    /// file's metadata to the temporary file, and returns `None`.
    fn in_place(self, group: &Group<'_>, temporary: &Temporary) -> Result<Option<InPlace>, StoreError> {
        let file = self.document.file();
        if let Some(known) = group.in_place.or_else(|| InPlace::before(file)) {
            return Ok(Some(known));
        }
        if !temporary.is_in_same_directory() {
            let guard = group.first.place.guard_of_directory();
            return Ok(Some(guard.map_or(InPlace::DirectoryNotWritable, InPlace::DirectoryGuarded)));
        }
        Ok(InPlace::after(file, temporary.keep_metadata(file)?))
    }

    /// Returns the rows of the file for the history, or the reason why the history keeps none.
    fn kept(
        self,
        task: &mut Task<'_, '_>,
        preview: &Preview<'_, Document<'_>>,
        regions: &[Region],
        directories: Option<Vec<PathBuf>>,
    ) -> Result<Result<Vec<EditedFile>, NotKept>, StoreError> {
        let (workspace, group) = (task.workspace, task.group);
        let place = self.arriving.map_or(&group.first.place, |arriving| arriving.to);
        let mut named = group.named.iter().copied().chain(self.arriving.map(|arriving| arriving.to));
        if let Err(reason) = named.try_for_each(|place| workspace.history.keeps_place(place)) {
            return Ok(Err(reason));
        }
        if !task.keeps(self.plan.splices.removed()) {
            return Ok(Err(NotKept::TooLarge));
        }
        let undo = Undo::Splices(preview.inverse().context(Operation::Read, place.path())?);
        let paths =
            [&group.first.place, place].map(|place| in_diff(&place.path().to_string_lossy()).into_owned());
        let diff = preview.diff(regions, paths.each_ref().map(String::as_str));
        let before = self.document.scan.digest;
        let moved = directories.map(|directories| moved_rows(&group.first.place, place, before, directories));
        let mut rows: Vec<EditedFile> = moved.into_iter().flatten().collect();
        rows.push(EditedFile {
            path: place.path().to_owned(),
            relative: place.relative().to_owned(),
            encoding: self.document.scan.encoding,
            before: Some(before),
            after: Some(preview.new_file().scan.digest),
            undo,
            diff: diff.context(Operation::Read, place.path())?,
        });
        Ok(Ok(rows))
    }
}

/// Returns the kind of a file's text, which its file name extension determines.
pub(super) fn kind_of(path: &Path) -> TextKind {
    let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("md" | "markdown" | "mdx" | "qmd" | "rmd") => TextKind::Markdown,
        Some("tsv" | "tab") => TextKind::Tabular,
        _ => TextKind::Plain,
    }
}

/// Reads the new content once, and passes it to the scanner, to the temporary file (if there is one), and to
/// the hasher, for the digest. With `sync`, the system begins to write a large file to disk meanwhile.
fn copy(
    new: &Spliced<'_, Document<'_>>,
    mut hasher: Hasher,
    scanner: &mut Scanner,
    mut temporary: Option<&mut Temporary>,
    sync: bool,
    cancellation: Cancellation<'_>,
) -> Result<Digest, ReadFault> {
    if new.size() <= SMALL {
        let bytes = read_range(new, 0..new.size())?;
        scanner.feed(&bytes);
        hasher.update_at(0, &bytes);
        if let Some(temporary) = temporary {
            temporary.write_all(&bytes)?;
        }
        return Ok(hasher.digest());
    }
    let hasher = read_and_hash(new, hasher, |bytes| {
        scanner.feed(bytes);
        cancellation.check()?;
        match temporary.as_mut() {
            Some(temporary) if sync => temporary.write_and_begin_sync(bytes),
            Some(temporary) => temporary.write_all(bytes),
            None => Ok(()),
        }
        .map_err(ReadFault::Io)
    })?;
    Ok(hasher.digest())
}
