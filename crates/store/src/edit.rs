//! A whole call that edits files: all of it or nothing. Lock, read, resolve, write beside, exchange; a lost race starts
//! again from the read.

use std::io::{self, Write as _};

use mcp_text_editor_core::digest::{Digest, Tag};
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::error::{At, Rejection};
use mcp_text_editor_core::regions::{Region, regions};
use mcp_text_editor_core::resolve::{
    self, GuardedRange, Options as Matching, Patch, Plan, Position, Resolution,
};
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;

use crate::diff::diff;
use crate::document::{Document, NotText, ROUNDS, SMALL, unless};
use crate::error::{Context as _, Operation, StoreError, StoreErrorKind};
use crate::history::EditId;
use crate::in_place::{InPlace, Overwrite, overwrite};
use crate::lock::{LockedFile, LockedSet, Wait, lock_all};
use crate::place::{OpenFile, WritablePlace};
use crate::read::read_and_hash;
use crate::replace::{Prepared, Temporary, commit};
use crate::roots::PathProblem;
use crate::store::Store;

/// What a call asks of one file.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The file, as the client named it.
    pub file_path: &'a str,
    /// Its encoding, in the client's word.
    pub encoding: Option<&'a str>,
    /// What the client remembers of it.
    pub file_hash: Option<&'a Tag>,
    /// What is to be done.
    pub change: Change<'a>,
}

/// What is to be done to a file. Texts have `\n` for line ends.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Replacements.
    Patch(&'a [Patch]),
    /// New lines at the end.
    Append(&'a str),
    /// New lines before or after one.
    Insert(&'a str, Position),
    /// Lines that go.
    Delete(&'a [GuardedRange]),
}

/// How a call is to be carried out.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The tool's name, for the history.
    pub tool: &'a str,
    /// How strictly to match.
    pub matching: Matching,
    /// Check everything, write nothing, and show the difference.
    pub dry_run: bool,
    /// Whether the client has withdrawn the call: asked up to the moment before the first file is exchanged.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// What a call has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// By what it can be undone, if it is kept.
    pub edit_id: Option<EditId>,
    /// Its files, each once.
    pub files: Vec<Edited>,
}

/// One file of a call, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edited {
    /// The first entry of the call that meant it.
    pub entry: usize,
    /// The digest of its bytes; `None` for a file that a dry run would create.
    pub digest: Option<Digest>,
    /// How many lines it has.
    pub total_lines: u64,
    /// Where new text stands.
    pub regions: Vec<Region>,
    /// What a dry run would change, as a unified diff.
    pub diff: Option<String>,
    /// What the client should know.
    pub warnings: Vec<Warning>,
}

/// What the client should know of an edit that succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warning {
    /// The new bytes are the old ones: nothing was written.
    Unchanged,
    /// The last line had no terminator, and was given one.
    FinalNewlineAdded,
    /// The file was written over instead of being replaced.
    EditedInPlace(InPlace),
}

/// One reason why a call is refused.
#[derive(Debug)]
pub struct Refusal {
    /// The entry of the call that it concerns.
    pub entry: usize,
    /// The reason.
    pub reason: Reason,
}

/// Why a call is refused.
#[derive(Debug)]
pub enum Reason {
    /// The path does not name a file that may be edited.
    Path(PathProblem),
    /// No encoding has the label that was given.
    UnknownEncoding,
    /// The operating system refused.
    Store(StoreError),
    /// The file is no text.
    NotText(NotText),
    /// Two entries mean one file and contradict each other.
    Differs(Differing),
    /// The request does not fit the file.
    Rejected {
        /// In what.
        rejection: Rejection,
        /// The digest that the file has; `None` for one that was to be created.
        digest: Option<Digest>,
        /// How many lines it has.
        total_lines: u64,
    },
}

/// In what two entries that mean one file differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Differing {
    /// In the encoding.
    Encoding {
        /// The entry that named the file first.
        first: usize,
    },
    /// In the file's digest.
    FileHash {
        /// The entry that named the file first.
        first: usize,
    },
}

/// Edits all files of a call, or none; every reason against it is found before it is refused.
pub fn edit(store: &Store, edits: &[Edit<'_>], options: Options<'_>) -> Result<Outcome, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let mut named = Vec::new();
    for (entry, edit) in edits.iter().enumerate() {
        let label = match edit.encoding.map(Label::parse) {
            Some(None) => {
                refusals.push(Refusal { entry, reason: Reason::UnknownEncoding });
                None
            }
            Some(Some(label)) => Some(label.encoding),
            None => None,
        };
        match store.roots.resolve_for_writing(edit.file_path) {
            Ok(place) => named.push(NamedFile { entry, edit: *edit, place, label, in_place: None }),
            Err(problems) => {
                let reasons = problems.into_iter().map(Reason::Path);
                refusals.extend(reasons.map(|reason| Refusal { entry, reason }));
            }
        }
    }
    for _ in 0..ROUNDS {
        let mut found = Vec::new();
        let outcome = round(&mut named, &mut found, refusals.is_empty(), options);
        match outcome {
            Err((_, StoreError { kind: StoreErrorKind::Changed, .. })) => continue,
            Err((entry, error)) if cannot_be_renamed(&error) && overwrite_next(&mut named, entry) => continue,
            Err((entry, error)) => refusals.push(Refusal { entry, reason: Reason::Store(error) }),
            Ok(files) if refusals.is_empty() && found.is_empty() => {
                return Ok(Outcome { edit_id: None, files });
            }
            Ok(_) => refusals.append(&mut found),
        }
        refusals.sort_by_key(|refusal| refusal.entry);
        return Err(refusals);
    }
    let entry = named.first().map_or(0, |file| file.entry);
    let path = named.first().map(|file| file.place.path().to_owned()).unwrap_or_default();
    let error = StoreError::new(Operation::Replace, &path, StoreErrorKind::Changed);
    refusals.push(Refusal { entry, reason: Reason::Store(error) });
    Err(refusals)
}

/// Whether the name cannot be given to another file: something is mounted there that was not known to be.
fn cannot_be_renamed(error: &StoreError) -> bool {
    let kind = error.source.as_ref().map(io::Error::kind);
    error.operation == Operation::Replace
        && matches!(kind, Some(io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices))
}

/// Has the file of an entry written over in the next round; `false` if it was already.
fn overwrite_next(named: &mut [NamedFile<'_>], entry: usize) -> bool {
    let file = named.iter_mut().find(|file| file.entry == entry);
    file.is_some_and(|file| file.in_place.replace(InPlace::Mounted).is_none())
}

/// An entry of a call whose path is known.
struct NamedFile<'a> {
    entry: usize,
    edit: Edit<'a>,
    place: WritablePlace,
    label: Option<Encoding>,
    /// Why it is to be written over, if a round before this has shown that.
    in_place: Option<InPlace>,
}

/// All entries of a call that mean one file.
struct Group<'a> {
    entry: usize,
    file_path: &'a str,
    place: WritablePlace,
    label: Option<Encoding>,
    in_place: Option<InPlace>,
    file_hash: Option<&'a Tag>,
    change: Change<'a>,
    /// The patches of all entries, if it is to be patched …
    patches: Vec<Patch>,
    /// … and of each the entry it came from, and its index there.
    origins: Vec<(usize, usize)>,
}

impl<'a> Group<'a> {
    fn new(file: &NamedFile<'a>) -> Self {
        let mut group = Self {
            entry: file.entry,
            file_path: file.edit.file_path,
            place: file.place.clone(),
            label: file.label,
            in_place: file.in_place,
            file_hash: file.edit.file_hash,
            change: file.edit.change,
            patches: Vec::new(),
            origins: Vec::new(),
        };
        group.add_patches(file);
        group
    }

    fn add_patches(&mut self, file: &NamedFile<'a>) {
        if let Change::Patch(patches) = file.edit.change {
            self.patches.extend_from_slice(patches);
            self.origins.extend((0..patches.len()).map(|patch| (file.entry, patch)));
        }
    }
}

/// One try: reasons against the call go to `refusals`. An error concerns the entry it names; [`StoreErrorKind::Changed`]
/// means that somebody else was first.
fn round(
    named: &mut Vec<NamedFile<'_>>,
    refusals: &mut Vec<Refusal>,
    may_write: bool,
    options: Options<'_>,
) -> Result<Vec<Edited>, (usize, StoreError)> {
    let wait = Wait { is_cancelled: options.is_cancelled, ..Wait::default() };
    let locked = loop {
        let places: Vec<&WritablePlace> = named.iter().map(|file| &file.place).collect();
        match lock_all(&places, &wait) {
            Ok(locked) => break locked,
            Err(problems) => {
                // What stands against the other files is told in the same reply.
                let mut gone = Vec::new();
                for (index, error) in problems {
                    let Some(file) = named.get(index) else { continue };
                    if error.kind == StoreErrorKind::Changed {
                        return Err((file.entry, error));
                    }
                    gone.push(file.entry);
                    refusals.push(Refusal { entry: file.entry, reason: Reason::Store(error) });
                }
                if gone.is_empty() {
                    return Ok(Vec::new());
                }
                named.retain(|file| !gone.contains(&file.entry));
            }
        }
    };
    let groups = group(named, &locked, refusals);
    let LockedSet { files, .. } = locked;
    let mut prepared: Vec<(usize, Written)> = Vec::new();
    let mut edited = Vec::new();
    for (index, (group, file)) in groups.iter().zip(&files).enumerate() {
        let at = |error: StoreError| (group.entry, error);
        let document = Document::of_one_state(file.file(), group.label, options.is_cancelled).map_err(at)?;
        let plan = match plan(group, &document, options).map_err(at)? {
            Ok(plan) => plan,
            Err(reasons) => {
                refusals.extend(reasons);
                continue;
            }
        };
        let write = may_write && refusals.is_empty() && !options.dry_run && !plan.unchanged;
        let (outcome, written) = carry_out(group, &document, &plan, write, options).map_err(at)?;
        edited.push(outcome);
        prepared.extend(written.map(|written| (index, written)));
    }
    if !may_write || !refusals.is_empty() || options.dry_run {
        return Ok(edited);
    }
    let first = groups.first().map_or(0, |group| group.entry);
    if (options.is_cancelled)() {
        let path = groups.first().map(|group| group.place.path().to_owned()).unwrap_or_default();
        return Err((first, StoreError::new(Operation::Replace, &path, StoreErrorKind::Cancelled)));
    }
    // Files that stay as they are keep their locks until the others are committed.
    let (mut ready, mut in_place, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut prepared = prepared.into_iter().peekable();
    for (index, (group, locked)) in groups.into_iter().zip(files).enumerate() {
        match prepared.next_if(|(of, _)| *of == index) {
            Some((_, Written { temporary, in_place: Some(_) })) => {
                in_place.push(Overwrite { place: group.place, temporary, locked });
            }
            Some((_, Written { temporary, in_place: None })) => {
                ready.push(Prepared { place: group.place, temporary, locked });
            }
            None => kept.push(locked),
        }
    }
    commit(ready, || overwrite(&in_place))
        .map_err(|error| (entry_of(named, &error).unwrap_or(first), error))?;
    drop::<Vec<LockedFile>>(kept);
    Ok(edited)
}

fn entry_of(named: &[NamedFile<'_>], error: &StoreError) -> Option<usize> {
    named.iter().find(|file| file.place.path() == error.path).map(|file| file.entry)
}

/// Joins entries that mean one file.
fn group<'a>(named: &[NamedFile<'a>], locked: &LockedSet, refusals: &mut Vec<Refusal>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (file, &index) in named.iter().zip(&locked.file_of) {
        let Some(group) = groups.get_mut(index) else {
            groups.push(Group::new(file));
            continue;
        };
        let first = group.entry;
        let mut refuse = |what| refusals.push(Refusal { entry: file.entry, reason: Reason::Differs(what) });
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
        group.add_patches(file);
    }
    groups
}

/// What is to be replaced in a file, or every reason why not.
fn plan(
    group: &Group<'_>,
    document: &Document<'_>,
    options: Options<'_>,
) -> Result<Result<Plan, Vec<Refusal>>, StoreError> {
    if let Some(fault) = document.not_text().context(Operation::Read, group.place.path())? {
        return Ok(Err(vec![Refusal { entry: group.entry, reason: Reason::NotText(fault) }]));
    }
    let (scan, hash) = (&document.scan, group.file_hash);
    let resolution = match group.change {
        Change::Patch(_) => resolve::patch(document, scan, hash, &group.patches, options.matching),
        Change::Append(contents) => resolve::append(document, scan, hash, contents),
        Change::Insert(contents, position) => resolve::insert(document, scan, hash, contents, position),
        Change::Delete(ranges) => resolve::delete(document, scan, hash, ranges),
    };
    let resolution: Resolution = resolution.context(Operation::Read, group.place.path())?;
    Ok(resolution.map_err(|rejections| {
        let refusals = rejections.into_iter().map(|mut rejection| {
            let entry = origin(&mut rejection, group);
            let (digest, total_lines) = (Some(scan.digest), scan.lines.count());
            Refusal { entry, reason: Reason::Rejected { rejection, digest, total_lines } }
        });
        refusals.collect()
    }))
}

/// Names the parts of a request as the call did, whose entries may have been joined; returns the first entry.
fn origin(rejection: &mut Rejection, group: &Group<'_>) -> usize {
    rejection.for_each_at(|at: &mut At| {
        let (entry, patch) = group.origins.get(at.patch).copied().unwrap_or((group.entry, at.patch));
        (at.entry, at.patch) = (entry, patch);
    });
    rejection.at().map_or(group.entry, |at| at.entry)
}

/// New content that is complete, and, if the file cannot be replaced by it, why not.
struct Written {
    temporary: Temporary,
    in_place: Option<InPlace>,
}

/// Writes the new content beside the file, if it is to be written, and tells what is to be told of it.
fn carry_out(
    group: &Group<'_>,
    document: &Document<'_>,
    plan: &Plan,
    write: bool,
    options: Options<'_>,
) -> Result<(Edited, Option<Written>), StoreError> {
    let path = group.place.path();
    let new = Spliced::new(document, &plan.splices);
    let mut written = None;
    let scan = if plan.unchanged {
        document.scan.clone()
    } else {
        let most = new.size().max(document.size());
        let mut file = if write { Some(Temporary::create_anywhere(&group.place, most)?) } else { None };
        let scan = copy(&new, document.scan.encoding, file.as_mut(), options.is_cancelled)
            .context(Operation::WriteTemporary, path)?;
        if let Some(temporary) = file {
            let in_place = in_place(group, document.file(), &temporary)?;
            temporary.sync()?;
            written = Some(Written { temporary, in_place });
        }
        scan
    };
    let regions = regions((document, &document.scan), (&new, &scan), plan).context(Operation::Read, path)?;
    let mut warnings = Vec::new();
    if plan.unchanged {
        warnings.push(Warning::Unchanged);
    }
    if plan.adds_final_newline {
        warnings.push(Warning::FinalNewlineAdded);
    }
    let in_place = written.as_ref().and_then(|written| written.in_place);
    warnings.extend(in_place.map(Warning::EditedInPlace));
    let mut edited = Edited {
        entry: group.entry,
        digest: Some(scan.digest),
        total_lines: scan.lines.count(),
        regions,
        diff: None,
        warnings,
    };
    if options.dry_run {
        let text = diff((document, &document.scan), (&new, &scan), &edited.regions, group.file_path)
            .context(Operation::Read, path)?;
        (edited.diff, edited.digest) = (Some(text), Some(document.scan.digest));
    }
    Ok((edited, written))
}

/// Why new content must be written over the file; if nothing stands against it, it is all that the file was.
fn in_place(
    group: &Group<'_>,
    file: &OpenFile,
    temporary: &Temporary,
) -> Result<Option<InPlace>, StoreError> {
    if let Some(known) = group.in_place.or_else(|| InPlace::before(file)) {
        return Ok(Some(known));
    }
    if !temporary.is_beside() {
        return Ok(Some(InPlace::DirectoryNotWritable));
    }
    Ok(InPlace::after(file, temporary.keep_metadata(file)?))
}

/// Reads the new content once: into the temporary, if there is one, and through a scanner.
fn copy(
    new: &Spliced<'_, Document<'_>>,
    encoding: Encoding,
    mut temporary: Option<&mut Temporary>,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<Scan> {
    if new.size() <= SMALL {
        let bytes = read_range(new, 0..new.size())?;
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(&bytes);
        if let Some(temporary) = temporary {
            temporary.write_all(&bytes)?;
        }
        return Ok(scanner.finish());
    }
    let mut scanner = Scanner::without_digest(Some(encoding));
    let digest = read_and_hash(new, |bytes| {
        scanner.feed(bytes);
        unless(is_cancelled)?;
        temporary.as_mut().map_or(Ok(()), |temporary| temporary.write_all(bytes))
    })?;
    Ok(scanner.finish_with(digest))
}
