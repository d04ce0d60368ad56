//! Ends a call that edits: all its files get their new content, or none. [`Transaction`] keeps the order of
//! steps that makes this hold whenever the process is killed and whatever fails.
//!
//! 1. The record names all files, before the first temporary is made.
//! 2. All temporaries are complete and synced; the record says what each file was and will be.
//! 3. Names that other files of the call get are taken away. Then all names are given. Then the files that
//!    keep their names are exchanged with their temporaries, one by one. Last, the other names are taken
//!    away. Each time, the file that loses a name must be what was read.
//! 4. Files that went to another directory are synced, then the directories. Unless all of it was one step of
//!    the file system, the record says *committed*.
//! 5. Files that must not be exchanged are written over, and synced.
//! 6. The old files are unlinked, then the directories that were made for those that are gone, and the
//!    record.
//!
//! An error up to step 5 takes all of it back. If the process is killed up to step 4, recovery takes the call
//! back; after that, recovery completes it. A single file that is exchanged, created, or renamed is old or
//! new at any time, so its record is never synced.

use std::collections::HashMap;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mcp_text_editor_core::digest::Digest;

use crate::access::place::WritablePlace;
use crate::access::roots::PathError;
use crate::cancellation::Cancellation;
use crate::commit::exchange::{Exchanged, Method, exchange, sync_directories_of};
use crate::commit::names::Names;
use crate::commit::overwrite::Overwriting;
use crate::commit::remove::remove_directories;
use crate::commit::staged::Staged;
use crate::durability::Durability;
use crate::error::{LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{Intent, Journal, JournalOfMachines, Record, Step, Subject};
use crate::lock::LockedFile;
use crate::os::directory::Dir;
use crate::stage::temporary::{Temporary, TemporaryId};
use crate::state_dir::{CONTENT, StateDir};
use crate::workspace::Workspace;

/// The number of files that are synced at a time, so that the file system can write them together.
const SYNCS: usize = 16;

/// The result of a transaction that was carried out.
#[derive(Debug)]
pub(crate) struct CommittedCall<'a, T> {
    /// The result of each file, in the order given.
    pub(crate) landed: Vec<Landed>,
    /// The result of `note`.
    pub(crate) noted: T,
    /// The directories that were made for files that have gone.
    pub(crate) around: Around<'a>,
}

/// The result of one file.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Landed {
    /// The way in which it was replaced; `None` if it was written over, created, moved or removed.
    pub(crate) method: Option<Method>,
    /// The digest of its content, if it was renamed: another program that has it open may have written to it.
    pub(crate) digest: Option<Digest>,
}

/// A transaction whose files are all in their final state.
#[derive(Debug)]
struct Carried<T> {
    landed: Vec<Landed>,
    noted: T,
    /// Old files that were exchanged; they have no names any more.
    exchanged: Vec<Arc<LockedFile>>,
    /// Files that were written over.
    overwritten: Vec<Arc<LockedFile>>,
    /// The directories that were made for files that have gone.
    around: Vec<PathBuf>,
    /// True if all temporaries are gone.
    is_clean: bool,
}

/// The directories around files that have gone, and the record of the call.
#[derive(Debug, Default)]
#[must_use = "they are still there"]
pub(crate) struct Around<'a> {
    of: Option<(&'a Workspace, Option<Box<dyn Record>>)>,
    directories: Vec<PathBuf>,
    /// True if the removal of the record must be on disk.
    sync: bool,
}

impl Around<'_> {
    /// Removes those that are empty, which ends the transaction. To be called after the places of the files
    /// are dropped: Windows removes no directory that has an open handle.
    pub(crate) fn remove(self) {
        let Some((workspace, mut record)) = self.of else { return };
        let proved = record.as_mut().map_or(Ok(()), |record| record.prove());
        match proved.and_then(|()| remove_directories(workspace, &self.directories)) {
            Ok(()) => record.into_iter().for_each(|record| record.remove(self.sync)),
            // The next process tries again.
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

/// A transaction that is dropped has changed nothing. Its record stays only if a temporary could not be
/// unlinked.
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
    /// Writes down which files may be changed. To be called before the first temporary is made. Without a
    /// journal the transaction is all or nothing only as long as the process lives; see
    /// [`Transaction::is_recorded`]. Fails if a required journal cannot be written to, or if a record of
    /// another call names one of the files.
    pub(crate) fn begin(workspace: &'a Workspace, subjects: Vec<Subject>) -> Result<Self, StoreError> {
        let write = |journal: &dyn Journal| workspace.deferred_close.with_room(|| journal.begin(&subjects));
        let begun = workspace.journal().filter(|_| !subjects.is_empty()).map(write);
        let is_needed = workspace.shared_journal().is_some_and(JournalOfMachines::is_needed);
        let record = match begun {
            None => None,
            Some(Ok(record)) => Some(record),
            // Another call was first, or no edit may go without a journal.
            Some(Err(error)) if is_needed || error.kind == StoreErrorKind::Changed => return Err(error),
            Some(Err(error)) => {
                tracing::warn!(%error, "an edit goes without a journal");
                None
            }
        };
        Ok(Self { workspace, subjects, record, renaming: Vec::new() })
    }

    /// Returns the temporaries and directories that were made for it and could not be removed. To be called
    /// after it has failed, once nothing holds them any more.
    pub(crate) fn left(&self) -> Vec<LeftBehind> {
        self.subjects.iter().flat_map(|subject| made_for(self.workspace, subject)).collect()
    }

    /// Tells whether recovery would find the transaction if the process were killed.
    pub(crate) fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// Carries the transaction out. `note` gets the result of each file; it is called once nothing can fail
    /// any more, while all files are still locked. `kept` are files of the call that are not changed, and
    /// stay locked until the end.
    pub(crate) fn commit<T>(
        mut self,
        files: Vec<Staged>,
        kept: Vec<Arc<LockedFile>>,
        cancellation: Cancellation<'_>,
        note: impl FnOnce(&[Landed]) -> T,
    ) -> Result<CommittedCall<'a, T>, StoreError> {
        match self.carry_out(files, cancellation, note) {
            Ok(Carried { landed, noted, exchanged, overwritten, around: directories, is_clean }) => {
                // Otherwise recovery could find the record after a power cut, and write this call's content
                // over a later edit.
                let sync = !overwritten.is_empty() && self.workspace.durability == Durability::Machine;
                let mut around = Around::default();
                match self.record.take() {
                    record if is_clean && !directories.is_empty() => {
                        around = Around { of: Some((self.workspace, record)), directories, sync };
                    }
                    Some(record) if is_clean => record.remove(sync),
                    record => record.into_iter().for_each(<dyn Record>::keep),
                }
                // The locks are released last.
                drop((overwritten, kept));
                self.workspace
                    .deferred_close
                    .close(exchanged.into_iter().filter_map(Arc::into_inner).collect());
                Ok(CommittedCall { landed, noted, around })
            }
            Err(error) => {
                let is_restored = error.kind != StoreErrorKind::NotRestored;
                // The record stays if the old names are not on disk: a power cut could bring the new ones
                // back.
                if !is_restored || sync_directories_of(self.renaming.iter()).is_err() {
                    self.record.take().into_iter().for_each(<dyn Record>::keep);
                }
                Err(error.leaving(self.left()))
            }
        }
    }

    /// Returns what becomes of each file that the record names.
    fn steps(&self, files: &[Staged]) -> Vec<Step> {
        let mut steps: HashMap<TemporaryId, Step> = files.iter().flat_map(Staged::steps).collect();
        let step = |subject: &Subject| steps.remove(&subject.id).unwrap_or(Step::Stay);
        self.subjects.iter().map(step).collect()
    }

    fn carry_out<T>(
        &mut self,
        files: Vec<Staged>,
        cancellation: Cancellation<'_>,
        note: impl FnOnce(&[Landed]) -> T,
    ) -> Result<Carried<T>, StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        let steps = self.steps(&files);
        // A process that takes a shared record over knows only what the record says.
        let is_shared = self.record.is_some() && self.workspace.shared_journal().is_some();
        let is_one_step = !is_shared && matches!(files.as_slice(), [file] if file.is_one_step());
        let needs_steps = is_shared || !matches!(files.as_slice(), [file] if !file.needs_step_alone());
        let mut landed = vec![Landed::default(); files.len()];
        let (mut to_overwrite, mut to_exchange, mut to_rename) = (Vec::new(), Vec::new(), Vec::new());
        let (mut of_exchanged, mut of_named) = (Vec::new(), Vec::new());
        // The last file comes first: it may be in a directory that was made for an earlier file, and must be
        // removed before that directory if the call fails.
        for (index, file) in files.into_iter().enumerate().rev() {
            match file {
                Staged::Replaced(file) if file.content.in_place.is_some() => to_overwrite.push(file),
                Staged::Replaced(file) => {
                    of_exchanged.push(index);
                    to_exchange.push(file);
                }
                Staged::Named { from, to } => {
                    of_named.push(index);
                    to_rename.push((from, to));
                }
            }
        }
        to_exchange.reverse();
        to_overwrite.reverse();
        let mut names = Names::new(to_rename);
        let overwriting = Overwriting::prepare(to_overwrite, self.workspace.content_dir(), sync)?;
        if sync {
            let of_exchanged = to_exchange.iter().map(|file| &file.content.temporary);
            let all = of_exchanged.chain(overwriting.temporaries()).chain(names.temporaries());
            sync_all(&all.collect::<Vec<_>>())?;
        }
        if let Some(record) = self.record.as_mut().filter(|_| needs_steps) {
            record.prepared(&steps, sync && !is_one_step)?;
        }
        overwriting.check()?;
        if cancellation.is_cancelled() {
            let places = to_exchange.iter().map(|file| &file.place).chain(names.places());
            let path = places.map(|place| place.path().to_owned()).next().unwrap_or_default();
            return Err(StoreError::new(Operation::Replace, &path, StoreErrorKind::Cancelled));
        }
        if sync {
            self.renaming =
                to_exchange.iter().map(|file| &file.place).chain(names.places()).cloned().collect();
        }
        if let Err(error) = names.give(&mut || self.prove()) {
            return Err(self.roll_back(error, None, names, overwriting));
        }
        let exchanged = match exchange(to_exchange) {
            Ok(exchanged) => exchanged,
            Err(error) => return Err(self.roll_back(error, None, names, overwriting)),
        };
        let is_final = names
            .take(&mut || self.prove())
            .and_then(|()| self.make_final(&exchanged, &names, &overwriting, !is_one_step));
        if let Err(error) = is_final {
            return Err(self.roll_back(error, Some(exchanged), names, overwriting));
        }
        if let Err(error) = overwriting.write(&mut || self.prove()) {
            return Err(self.take_back(error, exchanged, names, overwriting));
        }
        for (index, method) in of_exchanged.into_iter().rev().zip(exchanged.methods()) {
            landed.get_mut(index).into_iter().for_each(|landed| landed.method = Some(method));
        }
        for (index, digest) in of_named.into_iter().zip(names.arrived()) {
            landed.get_mut(index).into_iter().for_each(|landed| landed.digest = digest);
        }
        let noted = note(&landed);
        let (exchanged, are_gone) = exchanged.finish();
        let (around, are_named) = names.finish();
        let (overwritten, is_clean) = overwriting.finish();
        Ok(Carried {
            landed,
            noted,
            exchanged,
            overwritten,
            around,
            is_clean: is_clean && are_gone && are_named,
        })
    }

    /// Checks that the record is still this transaction's, before a step that uses no temporary.
    fn prove(&mut self) -> Result<(), StoreError> {
        self.record.as_mut().map_or(Ok(()), |record| record.prove())
    }

    /// Takes back the steps before one that failed. If the record is another owner's by now, or it is unknown
    /// whether it says *committed*, all stays as it is for recovery.
    fn roll_back(
        &mut self,
        error: StoreError,
        exchanged: Option<Exchanged>,
        names: Names,
        overwriting: Overwriting,
    ) -> StoreError {
        let is_in_doubt = |record: &dyn Record| record.is_in_doubt();
        if self.record.as_deref().is_some_and(is_in_doubt) || self.prove().is_err() {
            return leave(error, exchanged, names, overwriting);
        }
        names.roll_back(match exchanged {
            Some(exchanged) => exchanged.roll_back(error),
            None => error,
        })
    }

    /// Makes the transaction final: from here on recovery goes forward.
    fn make_final(
        &mut self,
        exchanged: &Exchanged,
        names: &Names,
        overwriting: &Overwriting,
        is_recorded: bool,
    ) -> Result<(), StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        if sync {
            names.sync_moved()?;
            exchanged.sync_directories()?;
            names.sync_names()?;
            overwriting.sync_directories()?;
        }
        exchanged.check()?;
        overwriting.check()?;
        match &mut self.record {
            Some(record) if is_recorded => record.committed(sync),
            _ => Ok(()),
        }
    }

    /// Takes all back because a file could not be written over; `error` says whether the files that were
    /// overwritten have their old bytes again. If not, and there is a record, all stays as it is: recovery
    /// has what it needs to go forward.
    fn take_back(
        &mut self,
        error: StoreError,
        exchanged: Exchanged,
        names: Names,
        overwriting: Overwriting,
    ) -> StoreError {
        let is_restored = error.kind != StoreErrorKind::NotRestored;
        match &mut self.record {
            None => {
                if !is_restored {
                    // No other copy has the old bytes.
                    overwriting.leave();
                }
                names.roll_back(exchanged.roll_back(error))
            }
            Some(record) => {
                if is_restored && record.take_back(true).is_ok() {
                    return names.roll_back(exchanged.roll_back(error));
                }
                leave(error, Some(exchanged), names, overwriting)
            }
        }
    }
}

/// Leaves everything as it is, to be recovered.
fn leave(
    error: StoreError,
    exchanged: Option<Exchanged>,
    names: Names,
    overwriting: Overwriting,
) -> StoreError {
    // `error` already names the files that could not be put back.
    let of_exchanged = exchanged.map(Exchanged::leave).unwrap_or_default();
    error.not_restored(of_exchanged).leaving(names.leave()).leaving(overwriting.leave())
}

/// Returns each directory where a temporary of a file can be, with the temporary's path.
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

/// Returns the temporaries of a file that are still there. If there are none, but one of them cannot be
/// examined, returns this one: it may be there.
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
        // Its path leads out of the roots by now.
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

/// Returns the temporaries and directories that were made for a file and are still there, or may be.
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

/// Waits until all are on disk, many at a time, so that the file system can write them together.
fn sync_all(files: &[&Temporary]) -> Result<(), StoreError> {
    if let [file] = files {
        return file.sync();
    }
    for_all(files, |file| file.sync())
}

/// Runs `work` on each, [`SYNCS`] at a time. The first error counts, and a panic continues in this thread.
fn for_all<T: Sync>(all: &[T], work: impl Fn(&T) -> Result<(), StoreError> + Sync) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), StoreError> {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(one)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // This thread works, too, and alone if no other can be started.
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
        // Each of the two threads has one of the two to do.
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
