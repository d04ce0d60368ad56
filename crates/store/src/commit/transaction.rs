//! Commits a call that edits: all its files get their new content, or none does. [`Transaction`] keeps the
//! order of steps that guarantees this even if the process is killed or a step fails.
//!
//! 1. The journal record names all files before the first temporary file is created.
//! 2. All temporary files are complete and synced. The record has the old and the new state of each file.
//! 3. Files lose the names that other files of the call get. Then all new names are given. Then the files
//!    that keep their names are exchanged with their temporary files, one by one. Last, the remaining old
//!    names are removed. At each of these steps, the file that loses a name must be unchanged since it was
//!    read.
//! 4. Files that moved to another directory are synced, then the directories. Unless the whole call was a
//!    single step of the file system, *committed* is added to the record.
//! 5. Files that must not be exchanged are overwritten in place, and synced.
//! 6. The old files are unlinked. Then the directories that were created for removed files, and the record,
//!    are removed.
//!
//! After an error up to step 5 the call is rolled back, in the same way as recovery does it: `table.rs`
//! decides each step, depending on which file each name has. If the process is killed before the end of step
//! 4, recovery rolls the call back; after that, recovery completes it. A single file that is exchanged,
//! created, or renamed is entirely old or entirely new at any time, so its record is never synced.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};

use mcp_text_editor_core::digest::Digest;

use crate::access::place::WritablePlace;
use crate::access::roots::PathError;
use crate::cancellation::Cancellation;
use crate::commit::exchange::{Method, exchange, sync_directories_of};
use crate::commit::names::Names;
use crate::commit::overwrite::Overwriting;
use crate::commit::staged::{Arrival, Replacement, Staged};
use crate::commit::table::RecordedCall;
use crate::commit::world::{TakenBackBy, World, remove_directories};
use crate::durability::Durability;
use crate::error::{LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{Contents, Intent, Journal, JournalOfMachines, Record, Step, Subject};
use crate::lock::LockedFile;
use crate::os::directory::Dir;
use crate::stage::{Temporary, TemporaryId};
use crate::state_dir::{CONTENT, StateDir};
use crate::workspace::Workspace;

/// The number of files that are synced concurrently, so that the file system can write them together.
const SYNCS: usize = 16;

/// The result of a transaction that was carried out.
#[derive(Debug)]
pub(crate) struct CommittedCall<'a, T> {
    /// The result of each file, in the order given.
    pub(crate) landed: Vec<Landed>,
    /// The result of `note`.
    pub(crate) noted: T,
    /// The directories that were created for files that have left them.
    pub(crate) around: Around<'a>,
}

/// The result of one file.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Landed {
    /// The method by which the file was replaced; `None` if it was overwritten in place, created, moved or
    /// removed.
    pub(crate) method: Option<Method>,
    /// The digest of its content, if it was renamed. A program that has the file open may have changed it.
    pub(crate) digest: Option<Digest>,
}

/// A transaction whose files are all in their final state.
#[derive(Debug)]
struct Carried<T> {
    landed: Vec<Landed>,
    noted: T,
    /// The directories that were created for files that have left them.
    around: Vec<PathBuf>,
    /// Whether all temporary files are gone.
    is_clean: bool,
}

/// The directories that were created for files that have lost their names, and the record of the call.
#[derive(Debug, Default)]
#[must_use = "they are still there"]
pub(crate) struct Around<'a> {
    of: Option<(&'a Workspace, Option<Box<dyn Record>>)>,
    directories: Vec<PathBuf>,
    /// Whether the removal of the record must be on disk.
    sync: bool,
}

impl Around<'_> {
    /// Removes the empty directories, which ends the transaction. Must be called after the places of the
    /// files are dropped: Windows removes no directory that has an open handle.
    pub(crate) fn remove(self) {
        let Some((workspace, mut record)) = self.of else { return };
        let proved = record.as_mut().map_or(Ok(()), |record| record.prove());
        match proved.and_then(|()| remove_directories(workspace, &self.directories)) {
            Ok(()) => record.into_iter().for_each(|record| record.remove(self.sync)),
            // The next process of this server tries again.
            Err(error) => {
                tracing::warn!(%error, "a directory that was made for a file cannot be removed with it");
                record.into_iter().for_each(<dyn Record>::keep);
            }
        }
    }
}

/// A call that edits, and its record.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    workspace: &'a Workspace,
    subjects: Vec<Subject>,
    record: Option<Box<dyn Record>>,
    /// The places whose names may have changed. If the commit fails, their directories are synced before the
    /// record is removed.
    renaming: Vec<WritablePlace>,
}

/// Dropping an uncommitted transaction removes its record, unless a temporary could not be unlinked. No file
/// has changed then.
impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let is_clean =
                self.subjects.iter().all(|subject| temporaries_left(self.workspace, subject).is_empty());
            if is_clean { drop(record) } else { record.keep() }
        }
    }
}

impl<'a> Transaction<'a> {
    /// Records which files may be changed. Must be called before the first temporary file is created. Without
    /// a journal, the transaction is all or nothing only as long as the process lives; see
    /// [`Transaction::is_recorded`]. Fails if a required journal cannot be written to, or if a record of
    /// another call names one of the files.
    pub(crate) fn begin(workspace: &'a Workspace, subjects: Vec<Subject>) -> Result<Self, StoreError> {
        let write = |journal: &dyn Journal| workspace.deferred_close.with_room(|| journal.begin(&subjects));
        let begun = workspace.journal().filter(|_| !subjects.is_empty()).map(write);
        let is_needed = workspace.shared_journal().is_some_and(JournalOfMachines::is_needed);
        let record = match begun {
            None => None,
            Some(Ok(record)) => Some(record),
            // Another call's record names one of the files, or the journal is required.
            Some(Err(error)) if is_needed || error.kind == StoreErrorKind::Changed => return Err(error),
            Some(Err(error)) => {
                tracing::warn!(%error, "an edit goes without a journal");
                None
            }
        };
        Ok(Self { workspace, subjects, record, renaming: Vec::new() })
    }

    /// Returns the temporary files and directories that were created for this transaction and could not be
    /// removed. Must be called after it has failed, once no handle to them is open any more.
    pub(crate) fn left(&self) -> Vec<LeftBehind> {
        self.subjects.iter().flat_map(|subject| made_for(self.workspace, subject)).collect()
    }

    /// Tells whether recovery would find the transaction if the process were killed.
    pub(crate) fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// Carries the transaction out. Calls `note` with the result of each file, once nothing can fail any more
    /// and while all files are still locked. `kept` are files of the call that do not change, but stay locked
    /// until the end.
    pub(crate) fn commit<T>(
        mut self,
        mut files: Vec<Staged>,
        kept: Vec<Arc<LockedFile>>,
        cancellation: Cancellation<'_>,
        note: impl FnOnce(&[Landed]) -> T,
    ) -> Result<CommittedCall<'a, T>, StoreError> {
        match self.carry_out(&files, cancellation, note) {
            Ok(Carried { landed, noted, around: directories, is_clean }) => {
                let (mut exchanged, mut overwritten) = (Vec::new(), kept);
                let mut has_overwritten = false;
                for file in files {
                    match file {
                        Staged::Replaced(Replacement { content, locked, .. }) => {
                            let is_in_place = content.in_place.is_some();
                            has_overwritten |= is_in_place;
                            let of = if is_in_place { &mut overwritten } else { &mut exchanged };
                            of.push(locked);
                            content.temporary.leave();
                        }
                        Staged::Named { to: Some(Arrival::New { creation, .. }), .. } => creation.keep(),
                        Staged::Named { to: Some(Arrival::Same { mut made, .. }), .. } => made.keep(),
                        // The handle is closed here: some file systems keep an open file under another name,
                        // in a directory that is to be removed.
                        Staged::Named { .. } => {}
                    }
                }
                // If the removal of the record were not synced, recovery could find the record after a power
                // cut, and write this call's content over a later edit.
                let sync = has_overwritten && self.workspace.durability == Durability::Machine;
                let mut around = Around::default();
                match self.record.take() {
                    record if is_clean && !directories.is_empty() => {
                        around = Around { of: Some((self.workspace, record)), directories, sync };
                    }
                    Some(record) if is_clean => record.remove(sync),
                    record => record.into_iter().for_each(<dyn Record>::keep),
                }
                // The locks are released last.
                drop(overwritten);
                self.workspace
                    .deferred_close
                    .close(exchanged.into_iter().filter_map(Arc::into_inner).collect());
                Ok(CommittedCall { landed, noted, around })
            }
            Err(error) => {
                let is_restored = error.kind != StoreErrorKind::NotRestored;
                // The last file is dropped first: it may be in a directory that was created for an earlier
                // file.
                while let Some(file) = files.pop() {
                    if let (false, Staged::Replaced(file)) = (is_restored, file) {
                        file.content.temporary.leave();
                    }
                }
                // The record stays if the old names are not on disk: a power cut could bring the new ones
                // back.
                if !is_restored || sync_directories_of(self.renaming.iter()).is_err() {
                    self.record.take().into_iter().for_each(<dyn Record>::keep);
                }
                Err(error.leaving(self.left()))
            }
        }
    }

    /// Returns the step of each file that the record names.
    fn steps(&self, files: &[Staged]) -> Vec<Step> {
        let mut steps: HashMap<TemporaryId, Step> = files.iter().flat_map(Staged::steps).collect();
        let step = |subject: &Subject| steps.remove(&subject.id).unwrap_or(Step::Stay);
        self.subjects.iter().map(step).collect()
    }

    fn carry_out<T>(
        &mut self,
        files: &[Staged],
        cancellation: Cancellation<'_>,
        note: impl FnOnce(&[Landed]) -> T,
    ) -> Result<Carried<T>, StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        let steps = self.steps(files);
        // A process on another machine that takes over a shared record knows only what the record says.
        let is_shared = self.record.is_some() && self.workspace.shared_journal().is_some();
        let is_one_step = !is_shared && matches!(files, [file] if file.is_one_step());
        let needs_steps = is_shared || !matches!(files, [file] if !file.needs_step_alone());
        let replaced = |is_in_place: bool| {
            files.iter().filter_map(move |file| match file {
                Staged::Replaced(file) if file.content.in_place.is_some() == is_in_place => Some(file),
                _ => None,
            })
        };
        let to_exchange: Vec<&Replacement> = replaced(false).collect();
        let overwriting = Overwriting::prepare(replaced(true), self.workspace.content_dir(), sync)?;
        if sync {
            let of_exchanged = to_exchange.iter().map(|file| &file.content.temporary);
            let of_new = files.iter().filter_map(|file| match file {
                Staged::Named { to: Some(Arrival::New { creation, .. }), .. } => Some(creation.temporary()),
                _ => None,
            });
            sync_all(&of_exchanged.chain(overwriting.temporaries()).chain(of_new).collect::<Vec<_>>())?;
        }
        if let Some(record) = self.record.as_mut().filter(|_| needs_steps) {
            record.prepared(&steps, sync && !is_one_step)?;
        }
        overwriting.check()?;
        let changing = || {
            let is_renamed =
                |file: &&Staged| !matches!(file, Staged::Replaced(file) if file.content.in_place.is_some());
            files.iter().filter(is_renamed).flat_map(Staged::places).map(|(place, _)| place)
        };
        if cancellation.is_cancelled() {
            let path = changing().map(|place| place.path().to_owned()).next().unwrap_or_default();
            return Err(StoreError::new(Operation::Replace, &path, StoreErrorKind::Cancelled));
        }
        if sync {
            self.renaming = changing().cloned().collect();
        }
        let mut names = Names::new(files.iter().filter_map(|file| match file {
            Staged::Named { from, to } => Some((from.as_ref(), to.as_ref())),
            Staged::Replaced(_) => None,
        }));
        let mut methods = Vec::new();
        let changed = names
            .give(&mut || self.prove())
            .and_then(|()| exchange(&to_exchange, &mut methods))
            .and_then(|()| names.take(&mut || self.prove()));
        let exchanged = || to_exchange.iter().copied().zip(methods.iter().copied());
        let is_final = changed.and_then(|()| {
            let check = || exchanged().try_for_each(|(file, method)| file.check(method));
            self.make_final(&to_exchange, check, &names, &overwriting, !is_one_step)
        });
        if let Err(error) = is_final {
            // If another process owns the record by now, or it is unknown whether the record says
            // *committed*, everything is left as it is for recovery.
            let is_in_doubt = self.record.as_deref().is_some_and(<dyn Record>::is_in_doubt);
            let is_ours = !is_in_doubt && self.prove().is_ok();
            return Err(self.fail(error, is_ours, (files, &steps), &names, overwriting));
        }
        if let Err(error) = overwriting.write(&mut || self.prove()) {
            // `error` says whether the overwritten files have their old bytes again. If not, and there is a
            // record, everything is left as it is: recovery can complete the call.
            let is_restored = error.kind != StoreErrorKind::NotRestored;
            let is_ours =
                self.record.as_mut().is_none_or(|record| is_restored && record.take_back(true).is_ok());
            return Err(self.fail(error, is_ours, (files, &steps), &names, overwriting));
        }
        let (mut of_exchanged, mut of_named) = (methods.iter().copied(), names.digests());
        let landed = files.iter().map(|file| match file {
            Staged::Replaced(file) if file.content.in_place.is_some() => Landed::default(),
            Staged::Replaced(_) => Landed { method: of_exchanged.next(), digest: None },
            Staged::Named { .. } => Landed { method: None, digest: of_named.next().flatten() },
        });
        let landed: Vec<Landed> = landed.collect();
        drop(of_named);
        let noted = note(&landed);
        let are_gone = exchanged().fold(true, |are_gone, (file, method)| are_gone & file.unlink_old(method));
        let (around, are_named) = names.finish();
        let is_clean = overwriting.finish() && are_gone && are_named;
        Ok(Carried { landed, noted, around, is_clean })
    }

    /// Checks that the record still belongs to this transaction, before a step that uses no temporary file.
    fn prove(&mut self) -> Result<(), StoreError> {
        self.record.as_mut().map_or(Ok(()), |record| record.prove())
    }

    /// Rolls back the steps before one that failed or, unless the call `is_ours`, leaves them for recovery.
    /// Returns the error to report: `error` or, if a file is not restored, an error that says where each
    /// content is.
    fn fail(
        &mut self,
        error: StoreError,
        is_ours: bool,
        (files, steps): (&[Staged], &[Step]),
        names: &Names<'_>,
        overwriting: Overwriting<'_>,
    ) -> StoreError {
        let is_spoiled = error.kind == StoreErrorKind::NotRestored;
        let mut left = if is_ours { names.respell_back() } else { Vec::new() };
        let is_back = is_ours && left.is_empty();
        let strays = if is_ours { names.strays() } else { Vec::new() };
        let place_of: HashMap<&Path, WritablePlace> = files
            .iter()
            .flat_map(Staged::places)
            .map(|(place, directory)| (place.path(), place.within(directory)))
            .collect();
        // Files of the call that do not change have no place here.
        let of_changed = self.subjects.iter().zip(steps).filter_map(|(subject, step)| {
            let place = place_of.get(subject.path.as_path())?.clone();
            Some((place, (subject.clone(), step.clone())))
        });
        let (places, (subjects, steps)): (Vec<_>, (Vec<_>, Vec<_>)) = of_changed.unzip();
        let contents = Contents { subjects, steps: Some(steps), ..Contents::default() };
        let by = TakenBackBy::Owner(RefCell::new(self.record.as_mut()));
        let call = RecordedCall { contents: &contents, is_one_step: false };
        let handles = files.iter().flat_map(Staged::handles).collect();
        let world = World::new(self.workspace, by, call, &places, handles);
        let discard = |(index, step): (usize, &Step)| match step {
            // The file does not have its old bytes again.
            Step::Overwrite(_) if is_spoiled => Ok(()),
            _ => world
                .discard(index)
                .or_else(|error| if world.is_new_set_aside(index)? { Err(error) } else { Ok(()) }),
        };
        let settle = || {
            world.settle().and_then(|()| contents.steps.iter().flatten().enumerate().try_for_each(discard))
        };
        let settled = if is_ours { settle() } else { Ok(()) };
        if let Err(error) = &settled {
            tracing::warn!(%error, "an edit that failed cannot be taken back");
        }
        let seen = world.left(&names.taken()).map(|seen| left.extend(seen));
        left.extend(strays);
        if is_spoiled || !is_ours {
            left.extend(overwriting.leave());
        }
        if is_spoiled || !is_back || settled.and(seen).is_err() {
            return error.not_restored(left);
        }
        if left.is_empty() {
            return error;
        }
        let kind = StoreErrorKind::Displaced;
        StoreError { kind, operation: Operation::Restore, ..error.leaving(left) }
    }

    /// Makes the transaction final: from now on, recovery completes it.
    fn make_final(
        &mut self,
        exchanged: &[&Replacement],
        check: impl FnOnce() -> Result<(), StoreError>,
        names: &Names<'_>,
        overwriting: &Overwriting<'_>,
        is_recorded: bool,
    ) -> Result<(), StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        if sync {
            names.sync_moved()?;
            sync_directories_of(exchanged.iter().map(|file| &file.place))?;
            names.sync_names()?;
            overwriting.sync_directories()?;
        }
        check()?;
        overwriting.check()?;
        match &mut self.record {
            Some(record) if is_recorded => record.committed(sync),
            _ => Ok(()),
        }
    }
}

/// Returns each directory in which a temporary file of a file can be, with the temporary file's path.
fn temporaries_of(workspace: &Workspace, subject: &Subject) -> Result<Vec<(Arc<Dir>, PathBuf)>, PathError> {
    let place = workspace.roots.place(&subject.path)?;
    let beside = Some((place.directory.clone(), subject.path.clone()));
    let elsewhere = |state: &StateDir| (state.content().clone(), state.path().join(CONTENT).join("any"));
    let directories = beside.into_iter().chain(workspace.content_dir().map(elsewhere));
    let in_each = |(directory, path): (Arc<Dir>, PathBuf)| {
        let names = [subject.id.name(), subject.id.name_of_old()];
        names.map(|name| (directory.clone(), path.with_file_name(name)))
    };
    Ok(directories.flat_map(in_each).collect())
}

/// Returns the temporary files of a file that still exist. If none is found, but one cannot be examined,
/// returns that one: it may still exist.
fn temporaries_left(workspace: &Workspace, subject: &Subject) -> Vec<LeftBehind> {
    let mut left: Vec<LeftBehind> = match temporaries_of(workspace, subject) {
        Ok(temporaries) => {
            let examine = |(directory, path): (Arc<Dir>, PathBuf)| {
                let what = match directory.symlink_metadata(path.file_name().unwrap_or_default()) {
                    Ok(_) => Remains::Made,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                    Err(_) => Remains::PerhapsMade,
                };
                Some(LeftBehind { path, what })
            };
            temporaries.into_iter().filter_map(examine).collect()
        }
        Err(PathError::Failed(error)) if error.kind == StoreErrorKind::Io => {
            let path = subject.path.with_file_name(subject.id.name());
            vec![LeftBehind { path, what: Remains::PerhapsMade }]
        }
        // The path now leads outside the roots.
        Err(_) => Vec::new(),
    };
    let is_there = |one: &LeftBehind| one.what == Remains::Made;
    if left.iter().any(is_there) {
        left.retain(is_there);
    } else {
        left.truncate(1);
    }
    left
}

/// Returns the temporary files and directories that were created for a file, and that still exist or may
/// still exist.
fn made_for(workspace: &Workspace, subject: &Subject) -> Vec<LeftBehind> {
    let directories = match &subject.intent {
        Intent::Create { directories } | Intent::MoveTo { directories } => directories.as_slice(),
        Intent::Edit { .. } | Intent::Remove | Intent::MoveFrom => &[],
    };
    let examine = |path: &PathBuf| match workspace.roots.place(path).map(|place| place.identity()) {
        Ok(Ok(_)) => Some(LeftBehind::new(path, Remains::Made)),
        Ok(Err(error)) | Err(PathError::Failed(error)) if error.kind == StoreErrorKind::Io => {
            Some(LeftBehind::new(path, Remains::PerhapsMade))
        }
        Ok(Err(_)) | Err(_) => None,
    };
    let directories = directories.iter().filter_map(examine);
    temporaries_left(workspace, subject).into_iter().chain(directories).collect()
}

/// Waits until all files are on disk. Syncs many concurrently, so that the file system can write them
/// together.
fn sync_all(files: &[&Temporary]) -> Result<(), StoreError> {
    if let [file] = files {
        return file.sync();
    }
    for_all(files, |file| file.sync())
}

/// Runs `work` on each item, in up to [`SYNCS`] threads. Returns the first error. A panic is resumed in this
/// thread.
fn for_all<T: Sync>(all: &[T], work: impl Fn(&T) -> Result<(), StoreError> + Sync) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), StoreError> {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(one)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // This thread also works, and works alone if no other thread can be started.
        let others: Vec<_> = (1..all.len().min(SYNCS))
            .map_while(|_| thread::Builder::new().name("sync".to_owned()).spawn_scoped(scope, work).ok())
            .collect();
        let own = work();
        let joined = others.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.fold(own, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_panic_of_another_thread_is_not_success() {
        // The barrier gives each of the two threads one of the two items.
        let (both, own) = (Barrier::new(2), thread::current().id());
        let work = |(): &()| {
            both.wait();
            assert_eq!(thread::current().id(), own);
            Ok(())
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| for_all(&[(), ()], work)));
        assert!(done.is_err());
    }
}
