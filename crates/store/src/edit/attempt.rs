//! One try at a call: lock, read, resolve, write beside, commit.

use std::io::Write as _;
use std::time::SystemTime;

use mcp_text_editor_core::digest::{Digest, DigestPrefix, Hasher};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::preview::Preview;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::rejection::{At, Rejection};
use mcp_text_editor_core::resolve::{self, Patch, Plan, Resolution, SpliceInfo};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;

use crate::access::place::WritablePlace;
use crate::access::windows_paths::in_diff;
use crate::cancellation::Cancellation;
use crate::commit::exchange::Method;
use crate::commit::in_place::InPlace;
use crate::commit::staged::{NewContent, Staged};
use crate::commit::transaction::Transaction;
use crate::edit::outcome::{Became, Edited, Outcome, Warning};
use crate::edit::problem::{Differing, EditProblem, Reason};
use crate::edit::request::{Change, Edit, Options};
use crate::error::{Context as _, Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{FileEdit, NewEdit, NotKept, Undo};
use crate::journal::{Intent, Subject};
use crate::lock::{Backoff, LockedFile, LockedSet};
use crate::os::clock::now;
use crate::os::inode_flags::Lost;
use crate::read::document::{Document, Extent};
use crate::read::hash::{SMALL, read_and_hash};
use crate::recovery::lock_settled;
use crate::stage::temporary::{Temporary, TemporaryId};
use crate::workspace::Workspace;

/// An entry of a call whose path has been resolved.
pub(super) struct NamedFile<'a> {
    pub(super) entry: usize,
    pub(super) edit: Edit<'a>,
    pub(super) place: WritablePlace,
    pub(super) label: Option<Encoding>,
    /// Why it is to be written over, if the configuration asks for that or an earlier attempt has shown it.
    pub(super) in_place: Option<InPlace>,
}

/// All entries of a call that mean one file.
struct Group<'a> {
    id: TemporaryId,
    entry: usize,
    file_path: &'a str,
    place: WritablePlace,
    label: Option<Encoding>,
    in_place: Option<InPlace>,
    file_hash: Option<&'a DigestPrefix>,
    change: Change<'a>,
    /// The patches of all entries, if it is to be patched.
    patches: Vec<Patch>,
    /// For each patch, the entry that it came from, and its index there.
    origins: Vec<(usize, usize)>,
    /// The place by which each entry has named it.
    named: Vec<WritablePlace>,
}

impl<'a> Group<'a> {
    fn new(file: &NamedFile<'a>) -> Self {
        let mut group = Self {
            id: TemporaryId::draw(),
            entry: file.entry,
            file_path: file.edit.file_path,
            place: file.place.clone(),
            label: file.label,
            in_place: file.in_place,
            file_hash: file.edit.file_hash,
            change: file.edit.change,
            patches: Vec::new(),
            origins: Vec::new(),
            named: Vec::new(),
        };
        group.add(file);
        group
    }

    fn add(&mut self, file: &NamedFile<'a>) {
        self.in_place = self.in_place.or(file.in_place);
        self.named.push(file.place.clone());
        if let Change::Patch(patches) = file.edit.change {
            self.patches.extend_from_slice(patches);
            self.origins.extend((0..patches.len()).map(|patch| (file.entry, patch)));
        }
    }
}

/// Makes one attempt. Reasons against the call go to `refusals`. An error names its entry; [`StoreErrorKind::Changed`] means that
/// another program or call was first.
pub(super) fn attempt(
    workspace: &Workspace,
    named: &mut Vec<NamedFile<'_>>,
    refusals: &mut Vec<EditProblem>,
    may_write: bool,
    options: Options<'_>,
    backoff: &mut Backoff<'_>,
) -> Result<Outcome, (usize, StoreError)> {
    let Some(locked) = lock(workspace, named, refusals, backoff)? else {
        return Ok(Outcome { edit_id: None, files: Vec::new() });
    };
    let groups = group(named, &locked, refusals);
    let files = locked.files;
    // Dropped in this order if the call fails: temporaries, record, locks.
    let mut transaction = None;
    let mut staging = Staging { transaction: &mut transaction, written: Vec::new(), edited: Vec::new() };
    let prepared = staging.prepare(workspace, &groups, &files, refusals, may_write, options);
    let Staging { mut edited, written, .. } = staging;
    let first = groups.first().map_or(0, |group| group.entry);
    let transaction = match (prepared, transaction) {
        (Ok(()), Some(transaction)) if refusals.is_empty() => transaction,
        (prepared, transaction) => {
            drop(written);
            let left = transaction.map_or_else(Vec::new, |transaction| transaction.left());
            prepared.map_err(|(entry, error)| (entry, error.leaving(left.clone())))?;
            if let Some(made) = left.first() {
                let error =
                    StoreError::new(Operation::WriteTemporary, &made.path, StoreErrorKind::NotRestored);
                let reason = Reason::Store(error.leaving(left));
                refusals.push(EditProblem { entry: first, reason });
            }
            return Ok(Outcome { edit_id: None, files: edited });
        }
    };
    // Files that stay as they are keep their locks until the others are committed.
    let (mut staged, mut stay, mut of_staged, mut kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, ((group, locked), new)) in groups.into_iter().zip(files).zip(written).enumerate() {
        let Some(Written { content, kept: of_file }) = new else {
            stay.push(locked);
            continue;
        };
        kept.push(of_file);
        of_staged.push((index, content.in_place, locked.is_guarded()));
        staged.push(Staged { place: group.place, content, locked });
    }
    let needs_journal = staged.len() > 1 || of_staged.iter().any(|(_, in_place, _)| in_place.is_some());
    let lacks_journal = needs_journal && !transaction.is_recorded();
    let remember = || {
        let files = kept.into_iter().collect::<Result<_, _>>()?;
        workspace.history.record(&NewEdit { tool: options.tool, undoes: options.undoes, files })
    };
    let done = transaction
        .commit(staged, stay, options.cancellation, remember)
        .map_err(|error| (entry_of(named, &error).unwrap_or(first), error))?;
    let mut methods = done.methods.into_iter();
    for (index, in_place, is_guarded) in of_staged {
        let method = if in_place.is_some() { None } else { methods.next() };
        let Some(file) = edited.get_mut(index) else { continue };
        let warnings = [
            in_place.map(Warning::EditedInPlace),
            (method == Some(Method::Renamed)).then_some(Warning::NotExchanged),
            (!is_guarded).then_some(Warning::NotLocked),
            lacks_journal.then_some(Warning::NoJournal),
        ];
        file.warnings.extend(warnings.into_iter().flatten());
    }
    let edit_id = done.noted.map_err(|reason| {
        // One file tells it for the whole call.
        let changed = edited.iter_mut().find(|file| !file.warnings.contains(&Warning::Unchanged));
        if let Some(file) = changed {
            file.warnings.push(Warning::NotInHistory(reason));
        }
    });
    Ok(Outcome { edit_id: edit_id.ok(), files: edited })
}

/// The files of a call in the making.
struct Staging<'t, 'a> {
    /// Begun when the first file is to be written.
    transaction: &'t mut Option<Transaction<'a>>,
    written: Vec<Option<Written>>,
    edited: Vec<Edited>,
}

impl<'a> Staging<'_, 'a> {
    /// Reads each file, decides what is to be replaced in it, and writes the new content beside it, unless there is a reason against the
    /// call.
    fn prepare(
        &mut self,
        workspace: &'a Workspace,
        groups: &[Group<'_>],
        files: &[LockedFile],
        refusals: &mut Vec<EditProblem>,
        may_write: bool,
        options: Options<'_>,
    ) -> Result<(), (usize, StoreError)> {
        let mut room = workspace.max_kept_bytes;
        for (group, file) in groups.iter().zip(files) {
            let at = |error: StoreError| (group.entry, error);
            let bytes = file.file().size();
            if bytes > workspace.max_file_bytes {
                let reason = Reason::TooLarge { bytes, becomes: false };
                refusals.push(EditProblem { entry: group.entry, reason });
                continue;
            }
            let began = now();
            let extent = match group.change {
                Change::Restore { .. } => Extent::Whole,
                _ => Extent::Text,
            };
            let document =
                Document::of_one_state(file.file(), group.label, extent, options.cancellation).map_err(at)?;
            let plan = match plan(group, &document, options).map_err(at)? {
                Ok(plan) => plan,
                Err(reasons) => {
                    refusals.extend(reasons);
                    continue;
                }
            };
            let new_size = Spliced::new(&document, &plan.splices).size();
            if new_size > workspace.max_file_bytes {
                let reason = Reason::TooLarge { bytes: new_size, becomes: true };
                refusals.push(EditProblem { entry: group.entry, reason });
                continue;
            }
            let writes = may_write && refusals.is_empty() && !options.dry_run && !plan.unchanged;
            if writes && self.transaction.is_none() {
                *self.transaction = Some(Transaction::begin(workspace, &subjects(groups, files)));
            }
            let work = Work { workspace, group, document: &document, plan: &plan, new_size, options, began };
            let (outcome, mut new) = work.carry_out(writes, &mut room).map_err(at)?;
            if let Some(new) = &mut new {
                let is_settled = file.file().identity().has_settled_content(began);
                new.content.unsettled = (!is_settled).then(|| document.into_content());
            }
            self.edited.push(outcome);
            self.written.push(new);
        }
        Ok(())
    }
}

/// Locks the files. Each that cannot be locked is a reason against the call; `None` if there is no other.
fn lock(
    workspace: &Workspace,
    named: &mut Vec<NamedFile<'_>>,
    refusals: &mut Vec<EditProblem>,
    backoff: &mut Backoff<'_>,
) -> Result<Option<LockedSet>, (usize, StoreError)> {
    loop {
        let places: Vec<&WritablePlace> = named.iter().map(|file| &file.place).collect();
        match lock_settled(workspace, &places, backoff) {
            Ok(locked) => return Ok(Some(locked)),
            Err(problems) => {
                // The other files are checked all the same, so that one reply has all reasons.
                let mut gone = Vec::new();
                for (index, error) in problems {
                    let Some(file) = named.get(index) else { continue };
                    if error.kind == StoreErrorKind::Changed {
                        return Err((file.entry, error));
                    }
                    gone.push(file.entry);
                    refusals.push(EditProblem { entry: file.entry, reason: Reason::Store(error) });
                }
                if gone.is_empty() {
                    return Ok(None);
                }
                named.retain(|file| !gone.contains(&file.entry));
            }
        }
    }
}

/// All files that may be written, for the record. Which of them will be is not known yet.
fn subjects(groups: &[Group<'_>], files: &[LockedFile]) -> Vec<Subject> {
    let subject = |(group, file): (&Group<'_>, &LockedFile)| Subject {
        path: group.place.path().to_owned(),
        id: group.id,
        intent: Intent::Edit { key: file.file().identity().key() },
    };
    groups.iter().zip(files).map(subject).collect()
}

fn entry_of(named: &[NamedFile<'_>], error: &StoreError) -> Option<usize> {
    named.iter().find(|file| file.place.path() == error.path).map(|file| file.entry)
}

/// Joins entries that mean one file.
fn group<'a>(named: &[NamedFile<'a>], locked: &LockedSet, refusals: &mut Vec<EditProblem>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (file, &index) in named.iter().zip(&locked.file_of) {
        let Some(group) = groups.get_mut(index) else {
            groups.push(Group::new(file));
            continue;
        };
        let first = group.entry;
        let mut refuse =
            |what| refusals.push(EditProblem { entry: file.entry, reason: Reason::Differs(what) });
        match (group.label, file.label) {
            (Some(one), Some(other)) if one != other => refuse(Differing::Encoding { first }),
            (None, label) => group.label = label,
            _ => {}
        }
        match (group.file_hash, file.edit.file_hash) {
            (Some(one), Some(other)) if !one.agrees_with(other) => refuse(Differing::FileHash { first }),
            (None, hash) => group.file_hash = hash,
            _ => {}
        }
        group.add(file);
    }
    groups
}

/// What is to be replaced in a file, or every reason why not.
fn plan(
    group: &Group<'_>,
    document: &Document<'_>,
    options: Options<'_>,
) -> Result<Result<Plan, Vec<EditProblem>>, StoreError> {
    if let Change::Restore { after, splices } = group.change {
        let digest = document.digest();
        if digest != Some(after) {
            let reason = Reason::ChangedSince { digest };
            return Ok(Err(vec![EditProblem { entry: group.entry, reason }]));
        }
        let facts = vec![SpliceInfo::of(Tier::Exact); splices.as_slice().len()];
        let splices = splices.clone();
        return Ok(Ok(Plan { splices, facts, adds_final_newline: false, unchanged: false }));
    }
    if let Some(fault) = document.not_text().context(Operation::Read, group.place.path())? {
        return Ok(Err(vec![EditProblem { entry: group.entry, reason: Reason::NotText(fault) }]));
    }
    let (file, hash) = (document.scanned(), group.file_hash);
    let resolution = match group.change {
        Change::Patch(_) => resolve::patch(file, hash, &group.patches, options.matching),
        Change::Append(contents) => resolve::append(file, hash, contents),
        Change::Insert(contents, position) => resolve::insert(file, hash, contents, position),
        Change::Delete(ranges) => resolve::delete(file, hash, ranges),
        // Done above.
        Change::Restore { .. } => return Ok(Err(Vec::new())),
    };
    let resolution: Resolution = resolution.context(Operation::Read, group.place.path())?;
    Ok(resolution.map_err(|rejections| {
        let refusals = rejections.into_iter().map(|mut rejection| {
            let entry = origin(&mut rejection, group);
            let (digest, total_lines) = (Some(file.scan.digest), file.scan.lines.count());
            EditProblem { entry, reason: Reason::Rejected { rejection, digest, total_lines } }
        });
        refusals.collect()
    }))
}

/// Translates the places in a rejection from the joined entries of a file to those of the call; returns the first entry.
fn origin(rejection: &mut Rejection, group: &Group<'_>) -> usize {
    rejection.for_each_at(|at: &mut At| {
        let (entry, patch) = group.origins.get(at.patch).copied().unwrap_or((group.entry, at.patch));
        (at.entry, at.patch) = (entry, patch);
    });
    rejection.at().map_or(group.entry, |at| at.entry)
}

/// New content that is complete, and its place in the history.
struct Written {
    content: NewContent,
    /// What the history is to keep, or why nothing.
    kept: Result<FileEdit, NotKept>,
}

/// What is to be done to one file.
#[derive(Clone, Copy)]
struct Work<'a> {
    workspace: &'a Workspace,
    group: &'a Group<'a>,
    document: &'a Document<'a>,
    plan: &'a Plan,
    /// How many bytes the file is to have.
    new_size: u64,
    options: Options<'a>,
    /// When the document was about to be read.
    began: SystemTime,
}

impl Work<'_> {
    /// Writes the new content beside the file, if it is to be written, and tells what is to be told of it.
    fn carry_out(self, write: bool, room: &mut u64) -> Result<(Edited, Option<Written>), StoreError> {
        let Self { group, document, plan, new_size, options, workspace, began } = self;
        let path = group.place.path();
        let (mut temporary, mut lost) = (None, Lost::default());
        if write {
            let most = new_size.max(document.size());
            let made =
                Temporary::create_anywhere(&group.place, group.id, most, workspace.state_dir.as_ref())?;
            if made.is_beside() {
                lost = made.keep_flags(document.file());
            }
            temporary = Some(made);
        }
        let preview = Preview::read_by(document.scanned(), plan, |new, scanner| {
            let same = plan.splices.as_slice().first().map_or(0, |splice| splice.at.start);
            let hasher = document.hasher_before(same, began);
            copy(new, hasher, scanner, temporary.as_mut(), options.cancellation)
        });
        let preview = preview.map_err(|fault| {
            // If there is no space, the error names the disk that was written to.
            let elsewhere = temporary.as_ref().filter(|temporary| {
                let has_no_room =
                    matches!(fault.kind(), StoreErrorKind::NoSpace | StoreErrorKind::FileTooLarge);
                has_no_room && !temporary.is_beside()
            });
            let path = elsewhere.map_or(path, Temporary::path);
            StoreError::from_fault(Operation::WriteTemporary, path, fault)
        })?;
        let scan = preview.new_file().scan;
        let mut edited = Edited {
            entry: group.entry,
            became: Became::Edited,
            digest: Some(scan.digest),
            total_lines: scan.lines.count(),
            regions: preview.regions().context(Operation::Read, path)?,
            diff: None,
            warnings: Vec::new(),
        };
        if preview.is_unchanged() {
            edited.warnings.push(Warning::Unchanged);
        }
        if preview.adds_final_newline() {
            edited.warnings.push(Warning::FinalNewlineAdded);
        }
        let indentation = preview.indentation().context(Operation::Read, path)?;
        edited.warnings.extend(indentation.map(Warning::Indentation));
        edited.warnings.extend(preview.joined().context(Operation::Read, path)?.map(Warning::Joined));
        edited.warnings.extend(preview.omission().context(Operation::Read, path)?.map(Warning::Omission));
        if options.dry_run {
            let text =
                preview.diff(&edited.regions, &in_diff(group.file_path)).context(Operation::Read, path)?;
            (edited.diff, edited.digest) = (Some(text), Some(document.scan.digest));
        }
        let Some(temporary) = temporary else { return Ok((edited, None)) };
        let in_place = self.in_place(&temporary)?;
        if in_place.is_none() && !lost.is_nothing() {
            edited.warnings.push(Warning::FlagsNotKept(lost));
        }
        let kept = self.kept(&preview, &edited.regions, room)?;
        // `unsettled` is set by the caller, who can take the content out of the document.
        let (old, new, unsettled) = (document.scan.digest, scan.digest, None);
        let content = NewContent { temporary, in_place, old, new, unsettled };
        Ok((edited, Some(Written { content, kept })))
    }

    /// Why new content must be written over the file. If there is no reason, the temporary gets the file's metadata.
    fn in_place(self, temporary: &Temporary) -> Result<Option<InPlace>, StoreError> {
        let file = self.document.file();
        if let Some(known) = self.group.in_place.or_else(|| InPlace::before(file)) {
            return Ok(Some(known));
        }
        if !temporary.is_beside() {
            let guard = self.group.place.guard_of_directory();
            return Ok(Some(guard.map_or(InPlace::DirectoryNotWritable, InPlace::DirectoryGuarded)));
        }
        Ok(InPlace::after(file, temporary.keep_metadata(file)?))
    }

    /// What the history is to keep of the edit. `room` is how much it may still take of the call.
    fn kept(
        self,
        preview: &Preview<'_, Document<'_>>,
        regions: &[Region],
        room: &mut u64,
    ) -> Result<Result<FileEdit, NotKept>, StoreError> {
        let (workspace, place) = (self.workspace, &self.group.place);
        let relative = place.relative().to_owned();
        let named = &self.group.named;
        if let Err(reason) = named.iter().try_for_each(|place| workspace.history.keeps_place(place)) {
            return Ok(Err(reason));
        }
        let removed = self.plan.splices.removed();
        let Some(rest) = room.checked_sub(removed) else { return Ok(Err(NotKept::TooLarge)) };
        *room = rest;
        let undo = Undo::Splices(preview.inverse().context(Operation::Read, place.path())?);
        let diff = preview.diff(regions, &in_diff(&place.path().to_string_lossy()));
        Ok(Ok(FileEdit {
            path: place.path().to_owned(),
            relative,
            encoding: self.document.scan.encoding,
            before: Some(self.document.scan.digest),
            after: Some(preview.new_file().scan.digest),
            undo,
            diff: diff.context(Operation::Read, place.path())?,
        }))
    }
}

/// Reads the new content once: through the scanner, into the temporary, if there is one, and through the hasher, for its digest.
fn copy(
    new: &Spliced<'_, Document<'_>>,
    mut hasher: Hasher,
    scanner: &mut Scanner,
    mut temporary: Option<&mut Temporary>,
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
        temporary.as_mut().map_or(Ok(()), |temporary| temporary.write_all(bytes)).map_err(ReadFault::Io)
    })?;
    Ok(hasher.digest())
}
