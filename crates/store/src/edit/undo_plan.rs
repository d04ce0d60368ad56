//! Undoes several edits in one transaction: [`UndoPlan`].
//!
//! The undos are planned one by one, the newest edit first, in the state in which the earlier undos of the
//! plan leave the files and the history. Then one call makes all changes of the files, and the history gets
//! an entry for each undo, as if the undos had been made one by one.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::diff;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::preview::Preview;
use mcp_text_editor_core::regions::whole;
use mcp_text_editor_core::resolve::{Plan, SpliceInfo};
use mcp_text_editor_core::scan::{Scan, Scanned, Scanner};
use mcp_text_editor_core::source::{Source, for_each_chunk, read_range};
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::windows_paths::in_diff;
use crate::commit::world::remove_directories;
use crate::edit::attempt::root_keys_of;
use crate::edit::call::edit;
use crate::edit::move_file::renamed;
use crate::edit::outcome::{Became, EditProblem, Edited, NOTHING, Outcome, Reason, Warning};
use crate::edit::request::{Edit, EditChange, EditOptions, Remember};
use crate::edit::snapshot::{Base, FileState, PlannedFile, PlannedFiles, Snapshot, result, with_state};
use crate::edit::undo::{UndoError, Undone, since, told_apart, undo_by};
use crate::error::ReadFault;
use crate::history::{Caller, EditId, EditedFile, Entry, History, NewEdit, NotKept, Undo};
use crate::workspace::Workspace;

/// Undos of several edits that are planned, but not made.
#[derive(Default, Debug)]
pub struct UndoPlan {
    /// The kept edits, and an entry for each planned undo. `None` until the first undo is planned.
    history: Option<History>,
    /// The undos, each with the id of its entry in `history`.
    undos: Vec<(Undone, EditId)>,
    /// For each path that the undos change, the file that it has once they are made.
    files: PlannedFiles,
    /// The files that the plan changes, as they are on disk.
    on_disk: BTreeMap<PathBuf, (Digest, Encoding)>,
    /// The directories that the undos create (`true`), or remove if they are empty (`false`).
    directories: BTreeMap<PathBuf, bool>,
}

/// The effect of one undo.
struct Effect {
    files: Vec<(PathBuf, Option<PlannedFile>)>,
    on_disk: Vec<(PathBuf, (Digest, Encoding))>,
    directories: Vec<(PathBuf, bool)>,
    rows: Vec<EditedFile>,
    outcome: Outcome,
}

impl UndoPlan {
    /// Plans the undo of one more edit, after the undos that are planned already. Writes nothing. After an
    /// error, the plan is as before.
    pub(crate) fn add(
        &mut self,
        workspace: &Workspace,
        id: &EditId,
        options: EditOptions<'_>,
    ) -> Result<(), UndoError> {
        let history = match self.history.take() {
            Some(history) => history,
            None => workspace.history.planned().map_err(UndoError::History)?,
        };
        let planned_effect = RefCell::new(None);
        let snapshot = Snapshot { workspace, history: &history, planned: Some(&self.files) };
        let options = EditOptions { dry_run: true, ..options };
        let undone = undo_by(snapshot, id, options, &|entry, edits, options| {
            // If no undo of the plan has changed these files before, a dry run also checks what only the disk
            // can tell, such as permissions.
            if edits.iter().flat_map(paths).all(|path| !self.files.contains_key(path)) {
                edit(workspace, edits, options)?;
            }
            let effect = self.effect(snapshot, entry, edits, options)?;
            let outcome = effect.outcome.clone();
            planned_effect.replace(Some(effect));
            Ok(outcome)
        });
        let undone = undone.and_then(|undone| {
            let effect = planned_effect.into_inner().ok_or(UndoError::Unknown)?;
            let (by, undoes) = (options.by, Some(&undone.entry.id));
            let new = NewEdit { by, undoes, files: effect.rows, root_keys: Vec::new() };
            let planned = history.keep(new, Some(&undone.entry)).map_err(UndoError::History)?;
            self.files.extend(effect.files);
            self.on_disk.extend(effect.on_disk);
            self.directories.extend(effect.directories);
            Ok((undone, planned.id))
        });
        self.history = Some(history);
        self.undos.push(undone?);
        Ok(())
    }

    /// Makes the changes of all planned undos in one transaction. Then keeps an entry for each undo in the
    /// history, in the order in which they were planned.
    pub(crate) fn carry_out(
        self,
        workspace: &Workspace,
        options: EditOptions<'_>,
    ) -> Result<Vec<Undone>, UndoError> {
        let (Some(history), Some((first, _))) = (&self.history, self.undos.first()) else {
            return Ok(Vec::new());
        };
        let snapshot = Snapshot { workspace, history, planned: Some(&self.files) };
        let (changes, left) = self.changes(snapshot).ok_or(UndoError::Unknown)?;
        let kept = RefCell::new(Ok(Vec::new()));
        let remember = || {
            let edits = self.undos.iter().map(|undo| new_edit(workspace, history, undo, options.by));
            let edits = edits.collect::<Result<Vec<_>, _>>();
            let undone: Vec<_> = self.undos.iter().map(|(undone, _)| Some(&undone.entry)).collect();
            *kept.borrow_mut() = edits.and_then(|edits| workspace.history.keep_all(edits, &undone));
        };
        let edits: Vec<Edit<'_>> = changes.iter().map(FileChange::edit).collect();
        let options =
            EditOptions { undoes: Some(&first.entry), remember: Some(Remember(&remember)), ..options };
        let done = if edits.is_empty() {
            remember();
            Vec::new()
        } else {
            edit(workspace, &edits, options)
                .map_err(|problems| self.against(workspace, &edits, problems))?
                .files
        };
        if let Err(error) = remove_directories(workspace, &left) {
            tracing::warn!(%error, "a directory of a removed file cannot be removed");
        }
        let mut undone: Vec<Undone> = self.undos.into_iter().map(|(undone, _)| undone).collect();
        match kept.into_inner() {
            Ok(entries) => {
                for (undone, entry) in undone.iter_mut().zip(entries) {
                    undone.outcome.edit_id = Some(entry.id.clone());
                    undone.outcome.entry = Some(entry);
                }
            }
            Err(reason) => {
                for file in undone.iter_mut().filter_map(|undone| undone.outcome.files.first_mut()) {
                    file.warnings.push(Warning::NotInHistory(reason.clone()));
                }
            }
        }
        // A warning of the transaction belongs to the last undo that changed the file.
        for done in done {
            let mut files: Vec<&mut Edited> =
                undone.iter_mut().flat_map(|undone| &mut undone.outcome.files).collect();
            let of_file = files.iter().rposition(|file| file.path == done.path);
            if let Some(file) = files.get_mut(of_file.unwrap_or(0)) {
                let warnings = done.warnings.into_iter();
                file.warnings.extend(warnings.filter(|warning| *warning != Warning::Removed));
            }
        }
        Ok(undone)
    }

    /// Returns the error of a refused transaction. Of its undos, it has the problems of the last that changes
    /// one of the files with a problem.
    fn against(&self, workspace: &Workspace, edits: &[Edit<'_>], problems: Vec<EditProblem>) -> UndoError {
        let of_undo = |(undone, _): &(Undone, EditId)| {
            let problem = |problem: &EditProblem| {
                let edit = edits.get(problem.entry)?;
                undone.entry.files.iter().position(|file| paths(edit).any(|path| path == file.path))
            };
            let rows: Vec<_> = problems.iter().map(problem).collect();
            rows.iter().any(Option::is_some).then(|| (undone.entry.clone(), rows))
        };
        let Some((entry, rows)) = self.undos.iter().rev().find_map(of_undo) else {
            return UndoError::Unknown;
        };
        let problem = |(row, problem): (Option<usize>, EditProblem)| {
            let reason = match problem.reason {
                Reason::OfTarget(reason) => *reason,
                reason => reason,
            };
            Some(EditProblem { entry: row?, reason: since(reason) })
        };
        let problems = rows.into_iter().zip(problems).filter_map(problem).collect();
        let undos = workspace.history.get(&entry.id).ok().flatten().map_or_else(Vec::new, |(_, undos)| undos);
        told_apart(Snapshot::of(workspace), (entry, &undos), problems, BTreeMap::new())
    }

    /// Returns the effect of the edits that undo a past edit.
    fn effect(
        &self,
        snapshot: Snapshot<'_>,
        entry: &Entry,
        edits: &[Edit<'_>],
        options: EditOptions<'_>,
    ) -> Result<Effect, Vec<EditProblem>> {
        let mut effect = Effect {
            files: Vec::new(),
            on_disk: Vec::new(),
            directories: Vec::new(),
            rows: Vec::new(),
            outcome: Outcome { edit_id: None, entry: None, files: Vec::new() },
        };
        let (mut taken, mut free, mut problems) = (Vec::new(), HashSet::new(), Vec::new());
        for (index, edit) in edits.iter().enumerate() {
            let path = Path::new(edit.file_path);
            let expected = match edit.change {
                EditChange::Keep { after } | EditChange::UndoCreate { after } => after,
                EditChange::Restore { after, .. } => Some(after),
                _ => {
                    taken.push(None);
                    continue;
                }
            };
            let present = self.present(snapshot, entry, path);
            let digest = present.as_ref().map(|file| file.digest);
            if digest.is_none() || (expected.is_some() && expected != digest) {
                problems.push(EditProblem { entry: index, reason: Reason::ChangedSince { digest } });
            }
            if let Some(file) = present.as_ref().filter(|_| !self.files.contains_key(path)) {
                effect.on_disk.push((path.to_owned(), (file.digest, file.encoding)));
            }
            effect.files.push((path.to_owned(), None));
            effect.directories.extend(edit.directories.iter().map(|left| (left.clone(), false)));
            free.insert(path);
            taken.push(present);
        }
        for (index, (edit, file)) in edits.iter().zip(taken).enumerate() {
            let path = edit.move_to.map_or(edit.file_path.as_ref(), Path::new);
            let is_there = || match self.files.get(path) {
                Some(planned) => planned.is_some(),
                None => path.symlink_metadata().is_ok(),
            };
            if (edit.change.creates() || edit.move_to.is_some()) && !free.remove(path) && is_there() {
                let digest = self.present(snapshot, entry, path).map(|file| file.digest);
                let mut reason = Reason::ChangedSince { digest };
                if edit.move_to.is_some() {
                    reason = Reason::OfTarget(Box::new(reason));
                }
                problems.push(EditProblem { entry: index, reason });
            }
            if problems.is_empty() {
                if let Some(edited) = self.change(snapshot, entry, (edit, file), &mut effect) {
                    let diff = edited.diff.filter(|_| options.shows_diff);
                    effect.outcome.files.push(Edited { entry: index, diff, ..edited });
                } else {
                    let reason = Reason::ChangedSince { digest: None };
                    problems.push(EditProblem { entry: index, reason });
                }
            }
        }
        if problems.is_empty() { Ok(effect) } else { Err(problems) }
    }

    /// Returns the file that has a path once the planned undos are made; `None` if there is none, or if it
    /// cannot be read.
    fn present(&self, snapshot: Snapshot<'_>, entry: &Entry, path: &Path) -> Option<PlannedFile> {
        if let Some(planned) = self.files.get(path) {
            return planned.clone();
        }
        let encoding = entry.files.iter().find(|file| file.path == path)?.encoding;
        let state = unchanged(Base::File(path.to_owned()));
        let digest = &mut |bytes: &dyn Source<Error = ReadFault>| Ok(Some(scan(bytes, encoding)?.digest));
        let digest = with_state(snapshot, &state, digest).ok()??;
        Some(PlannedFile { state, digest, encoding })
    }

    /// Adds the rows and the new file of one edit to the effect. `file` is the file that the edit changes,
    /// and has left its old path already. Returns `None` if the edit does not fit, or if the bytes of the
    /// file cannot be read.
    fn change(
        &self,
        snapshot: Snapshot<'_>,
        entry: &Entry,
        (edit, file): (&Edit<'_>, Option<PlannedFile>),
        effect: &mut Effect,
    ) -> Option<Edited> {
        let from = Path::new(edit.file_path);
        let path = edit.move_to.map_or(from, Path::new);
        let name = |path: &Path| in_diff(&path.to_string_lossy()).into_owned();
        let known = |path: &Path| entry.files.iter().find(|file| file.path == path);
        let row = |path: &Path, [before, after]: [Option<Digest>; 2], undo: Undo, diff: String| {
            let known = known(path)?;
            let (path, relative, encoding) = (path.to_owned(), known.relative.clone(), known.encoding);
            Some(EditedFile { path, relative, encoding, before, after, undo, diff })
        };
        let mut edited = Edited {
            entry: 0,
            became: Became::Edited,
            digest: None,
            total_lines: 0,
            replaced: 0,
            regions: Vec::new(),
            diff: None,
            comparison: None,
            warnings: Vec::new(),
            path: path.to_owned(),
            shown: None,
        };
        let Some(mut file) = file else {
            let EditChange::Recreate(contents) = edit.change else { return None };
            let removed = entry.files.iter().position(|file| file.path == path && file.after.is_none())?;
            let state = unchanged(Base::Removed(entry.id.clone(), removed));
            let encoding = known(path)?.encoding;
            let (digest, diff) = of_whole(contents, encoding, [NOTHING, &name(path)], false);
            let undo = Undo::Remove { directories: self.make_way(path, effect) };
            effect.rows.push(row(path, [None, Some(digest)], undo, diff.clone())?);
            effect.files.push((path.to_owned(), Some(PlannedFile { state, digest, encoding })));
            let (became, digest, diff) = (Became::Created, Some(digest), Some(diff));
            return Some(Edited { became, digest, diff, ..edited });
        };
        let before = Some(file.digest);
        if edit.change.removes() {
            let contents = contents(snapshot, &file)?;
            let (_, diff) = of_whole(&contents, file.encoding, [&name(path), NOTHING], true);
            effect.rows.push(row(path, [before, None], Undo::Create { contents }, diff.clone())?);
            edited.warnings.push(Warning::Removed);
            return Some(Edited { became: Became::Removed, diff: Some(diff), ..edited });
        }
        let mut diff = String::new();
        if edit.move_to.is_some() {
            diff = renamed(from, path);
            let way = Undo::Remove { directories: self.make_way(path, effect) };
            let none = Undo::Create { contents: Vec::new() };
            effect.rows.push(row(from, [before, None], none, diff.clone())?);
            effect.rows.push(row(path, [None, before], way, diff.clone())?);
            edited.became = Became::Moved { from: edit.file_path.to_owned() };
        }
        if let EditChange::Restore { splices, .. } = edit.change {
            let facts = vec![SpliceInfo::of(Tier::Exact); splices.as_slice().len()];
            let plan = Plan { splices: splices.clone(), facts, adds_final_newline: false, unchanged: false };
            let names = [from, path].map(name);
            let read = &mut |bytes: &dyn Source<Error = ReadFault>| {
                if result(bytes, splices).is_none() {
                    return Ok(None);
                }
                let old = scan(bytes, file.encoding)?;
                let preview = Preview::read(Scanned::new(bytes, &old), &plan)?;
                let regions = preview.regions()?;
                let diff = preview.diff(&regions, names.each_ref().map(String::as_str))?;
                Ok(Some((preview.new_file().scan.digest, preview.inverse()?, diff)))
            };
            let (digest, inverse, change) = with_state(snapshot, &file.state, read).ok()??;
            effect.rows.push(row(path, [before, Some(digest)], Undo::Splices(inverse), change.clone())?);
            diff += &change;
            file = PlannedFile { state: file.state.back(splices), digest, ..file };
        }
        (edited.digest, edited.diff) = (Some(file.digest), Some(diff));
        effect.files.push((path.to_owned(), Some(file)));
        Some(edited)
    }

    /// Returns the directories that must be created for a new path, outermost first, and adds them to the
    /// effect.
    fn make_way(&self, path: &Path, effect: &mut Effect) -> Vec<PathBuf> {
        let known = |directory: &Path| {
            let new = effect.directories.iter().rev().find(|(known, _)| known == directory);
            new.map(|(_, is_there)| *is_there).or_else(|| self.directories.get(directory).copied())
        };
        let is_missing =
            |directory: &&Path| !known(directory).unwrap_or_else(|| directory.symlink_metadata().is_ok());
        let mut missing: Vec<PathBuf> =
            path.ancestors().skip(1).take_while(is_missing).map(Path::to_owned).collect();
        missing.reverse();
        effect.directories.extend(missing.iter().map(|new| (new.clone(), true)));
        missing
    }

    /// Returns, for each file, the sum of its changes, and the directories that are to be removed if they are
    /// empty. Returns `None` if the bytes of a file cannot be read.
    fn changes(&self, snapshot: Snapshot<'_>) -> Option<(Vec<FileChange<'_>>, Vec<PathBuf>)> {
        let mut arrived: HashMap<&Path, (&Path, &PlannedFile)> = HashMap::new();
        let mut new: Vec<(&Path, &PlannedFile)> = Vec::new();
        for (path, file) in self.files.iter().filter_map(|(path, file)| Some((path, file.as_ref()?))) {
            match &file.state.base {
                Base::File(origin) => drop(arrived.insert(origin, (path, file))),
                Base::Removed(..) => new.push((path, file)),
            }
        }
        let mut changes = Vec::new();
        let left = self.directories.iter().filter(|(_, is_there)| !**is_there).map(|(left, _)| left.clone());
        let left: Vec<PathBuf> = left.collect();
        for (path, (digest, encoding)) in &self.on_disk {
            let mut change = FileChange {
                path,
                to: path,
                encoding: *encoding,
                directories: Vec::new(),
                kind: Kind::Remove(*digest),
            };
            if let Some((to, file)) = arrived.remove(&**path) {
                change.to = to;
                let splices = &file.state.splices;
                change.kind = if file.digest == *digest {
                    Kind::Keep(*digest)
                } else {
                    Kind::Restore(*digest, splices.clone())
                };
            }
            if change.to != path || matches!(change.kind, Kind::Remove(_)) {
                change.directories = left.iter().filter(|left| path.starts_with(left)).cloned().collect();
            }
            if change.to != path || !matches!(change.kind, Kind::Keep(_)) {
                changes.push(change);
            }
        }
        for (path, file) in new {
            let kind = Kind::Create(contents(snapshot, file)?);
            changes.push(FileChange {
                path,
                to: path,
                encoding: file.encoding,
                directories: Vec::new(),
                kind,
            });
        }
        Some((changes, left))
    }
}

/// The change of one file by all undos of a plan together.
struct FileChange<'a> {
    path: &'a Path,
    to: &'a Path,
    encoding: Encoding,
    directories: Vec<PathBuf>,
    kind: Kind,
}

/// The kind of the change of one file. The digest is that of the file as it is now.
enum Kind {
    Keep(Digest),
    Restore(Digest, SpliceSet),
    Remove(Digest),
    Create(Vec<u8>),
}

impl FileChange<'_> {
    fn edit(&self) -> Edit<'_> {
        let [file_path, to] = [self.path, self.to].map(|path| path.to_str().unwrap_or_default());
        let change = match &self.kind {
            Kind::Keep(after) => EditChange::Keep { after: Some(*after) },
            Kind::Restore(after, splices) => EditChange::Restore { after: *after, splices },
            Kind::Remove(after) => EditChange::UndoCreate { after: Some(*after) },
            Kind::Create(contents) => EditChange::Recreate(contents),
        };
        let move_to = (self.path != self.to).then_some(to);
        let (encoding, directories) = (Some(self.encoding.name()), &*self.directories);
        Edit { file_path, encoding, file_hash: None, move_to, directories, change }
    }
}

/// Returns the edit that the history is to keep for a planned undo.
fn new_edit<'e>(
    workspace: &Workspace,
    history: &History,
    (undone, planned): &'e (Undone, EditId),
    by: Caller<'e>,
) -> Result<NewEdit<'e>, NotKept> {
    let Some((entry, undos)) = history.get(planned)? else { return Err(NotKept::Off) };
    let files: Vec<EditedFile> = entry.files.into_iter().zip(undos).map(EditedFile::from).collect();
    let root_keys = root_keys_of(workspace, &files);
    Ok(NewEdit { by, undoes: Some(&undone.entry.id), files, root_keys })
}

fn paths<'e>(edit: &Edit<'e>) -> impl Iterator<Item = &'e Path> + use<'e> {
    [Some(edit.file_path), edit.move_to].into_iter().flatten().map(Path::new)
}

fn unchanged(base: Base) -> FileState {
    FileState { base, splices: SpliceSet::default() }
}

fn contents(snapshot: Snapshot<'_>, file: &PlannedFile) -> Option<Vec<u8>> {
    with_state(snapshot, &file.state, &mut |bytes| read_range(bytes, 0..bytes.size()).map(Some)).ok()?
}

fn scan<S: Source + ?Sized>(bytes: &S, encoding: Encoding) -> Result<Scan, S::Error> {
    let mut scanner = Scanner::new(Some(encoding));
    for_each_chunk(bytes, 0..bytes.size(), |_, chunk| {
        scanner.feed(chunk);
        true
    })?;
    Ok(scanner.finish())
}

/// Returns the digest and the diff of a file that is created or, if `is_removal`,
/// removed.
fn of_whole(contents: &[u8], encoding: Encoding, names: [&str; 2], is_removal: bool) -> (Digest, String) {
    let scanned = |bytes| scan(bytes, encoding).unwrap_or_else(|never| match never {});
    let (none, whole_scan) = (scanned(&[][..]), scanned(contents));
    let (nothing, file) = (Scanned::new(&[][..], &none), Scanned::new(contents, &whole_scan));
    let [old, new] = if is_removal { [file, nothing] } else { [nothing, file] };
    let region = whole(old, new).unwrap_or_else(|never| match never {});
    let diff = diff::between(old, new, region.as_slice(), names).unwrap_or_else(|never| match never {});
    (whole_scan.digest, diff)
}
