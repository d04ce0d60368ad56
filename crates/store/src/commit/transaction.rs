//! The end of a call that edits: all its files get their new content, or none. [`Transaction`] keeps the order of steps that makes
//! this hold whenever the process is killed and whatever fails; `docs/reliability.md` has a table of it.
//!
//! 1. The record names all files, before the first temporary is made.
//! 2. All temporaries are complete and synced; the record says what each file was and will be.
//! 3. The files are exchanged with their temporaries one by one; each time what comes out must be what was read.
//! 4. The directories are synced. If there is more than one file, or one that is to be written over, the record says
//!    *committed*.
//! 5. Files that must not be exchanged are written over, and synced.
//! 6. The old files are unlinked, and the record is.
//!
//! An error up to step 5 takes all of it back. If the process is killed up to step 4, recovery takes the call back; after that it ends
//! the call. A single file that is exchanged is old or new at any time, so its record is never synced.

use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::access::place::WritablePlace;
use crate::access::roots::PathError;
use crate::cancellation::Cancellation;
use crate::commit::exchange::{Exchanged, Method, exchange, sync_directories_of};
use crate::commit::overwrite::Overwriting;
use crate::commit::staged::Staged;
use crate::durability::Durability;
use crate::error::{Left, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{Intent, Record, Step, Subject};
use crate::lock::LockedFile;
use crate::os::directory::Dir;
use crate::stage::temporary::Temporary;
use crate::state_dir::{CONTENT, StateDir};
use crate::workspace::Workspace;

/// How many files are synced at a time, so that the file system can write them together.
const SYNCS: usize = 16;

/// What is known of a transaction that was carried out.
#[derive(Debug)]
pub(crate) struct Done<T> {
    /// How each file was replaced that was not written over, in the order given.
    pub(crate) methods: Vec<Method>,
    /// The result of `note`.
    pub(crate) noted: T,
}

/// A transaction whose files have their new content.
#[derive(Debug)]
struct Carried<T> {
    done: Done<T>,
    /// Old files that were exchanged; they have no names any more.
    exchanged: Vec<LockedFile>,
    /// Files that were written over.
    overwritten: Vec<LockedFile>,
    /// Whether all temporaries are gone.
    is_clean: bool,
}

/// A call that edits, and its record.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    workspace: &'a Workspace,
    subjects: Vec<Subject>,
    record: Option<Record>,
    /// The places whose names may have been exchanged. If the commit fails, their directories are synced before the record is removed.
    exchanging: Vec<WritablePlace>,
}

/// A transaction that is dropped has changed nothing. Its record stays only if a temporary could not be unlinked.
impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let is_clean = self.subjects.iter().all(|subject| !has_left(self.workspace, subject));
            if is_clean { drop(record) } else { record.keep() }
        }
    }
}

impl<'a> Transaction<'a> {
    /// Writes down which files may be changed. To be called before the first temporary is made. Without a journal the transaction is
    /// all or nothing only as long as the process lives; see [`Transaction::is_recorded`].
    pub(crate) fn begin(workspace: &'a Workspace, subjects: &[Subject]) -> Self {
        let write = |state| workspace.deferred_close.with_room(|| Record::begin(state, subjects));
        let begun = workspace.state_dir.as_ref().map(write);
        let record = begun.and_then(|begun| {
            begun.inspect_err(|error| tracing::warn!(%error, "an edit goes without a journal")).ok()
        });
        Self { workspace, subjects: subjects.to_vec(), record, exchanging: Vec::new() }
    }

    /// Writes down what is to become of the files of a transaction that exchanges none.
    pub(crate) fn decide(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        self.record.as_mut().map_or(Ok(()), |record| record.prepared(steps, sync))
    }

    /// From here on recovery goes forward.
    pub(crate) fn decided(&mut self) -> Result<(), StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        self.record.as_mut().map_or(Ok(()), |record| record.committed(sync))
    }

    /// Whether its record may say *committed* or not; see [`Record::is_in_doubt`].
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.record.as_ref().is_some_and(Record::is_in_doubt)
    }

    /// Leaves its record to recovery, which puts right what this process could not.
    pub(crate) fn give_up(&mut self) {
        self.record.take().into_iter().for_each(Record::keep);
    }

    /// Does the work of a transaction that exchanges no files. Whatever the work has made must be gone, as far as it can be removed, when
    /// that ends: an error tells of what is left.
    pub(crate) fn work<T>(
        mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<(T, Self), StoreError> {
        match work(&mut self) {
            Ok(done) => Ok((done, self)),
            Err(error) => Err(error.leaving(self.left())),
        }
    }

    /// The temporaries and directories that were made for it and could not be removed. Due once it has failed, and none is held any more.
    pub(crate) fn left(&self) -> Vec<Left> {
        self.subjects.iter().flat_map(|subject| made_for(self.workspace, subject)).collect()
    }

    /// Whether recovery would find it if the process were killed.
    pub(crate) fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// Carries it out. `note` is called once nothing can fail any more, while all files are still locked; `kept` are files of the call
    /// that are not changed, and stay locked until the end.
    pub(crate) fn commit<T>(
        mut self,
        files: Vec<Staged>,
        kept: Vec<LockedFile>,
        cancellation: Cancellation<'_>,
        note: impl FnOnce() -> T,
    ) -> Result<Done<T>, StoreError> {
        match self.carry_out(files, cancellation, note) {
            Ok(Carried { done, exchanged, overwritten, is_clean }) => {
                let is_in_place = !overwritten.is_empty();
                match self.record.take() {
                    // Synced, since recovery could otherwise find it after a power cut, and write old content over a later edit.
                    Some(record) if is_clean => {
                        record.remove(is_in_place && self.workspace.durability == Durability::Machine);
                    }
                    record => record.into_iter().for_each(Record::keep),
                }
                // The locks are released last.
                drop((overwritten, kept));
                self.workspace.deferred_close.close(exchanged);
                Ok(done)
            }
            Err(error) => {
                let is_restored = error.kind != StoreErrorKind::NotRestored;
                // The record stays if the old names are not on disk: a power cut could bring the exchange back.
                if !is_restored || sync_directories_of(self.exchanging.iter()).is_err() {
                    self.give_up();
                }
                Err(error.leaving(self.left()))
            }
        }
    }

    /// What becomes of each file that the record names.
    fn steps(&self, files: &[Staged]) -> Vec<Step> {
        let step = |subject: &Subject| {
            let staged = files.iter().find(|file| file.content.temporary.id() == subject.id);
            staged.map_or(Step::Stay, Staged::step)
        };
        self.subjects.iter().map(step).collect()
    }

    fn carry_out<T>(
        &mut self,
        files: Vec<Staged>,
        cancellation: Cancellation<'_>,
        note: impl FnOnce() -> T,
    ) -> Result<Carried<T>, StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        let steps = self.steps(&files);
        let is_one_exchange = matches!(files.as_slice(), [file] if file.content.in_place.is_none());
        let (to_overwrite, to_exchange): (Vec<Staged>, Vec<Staged>) =
            files.into_iter().partition(|file| file.content.in_place.is_some());
        let overwriting = Overwriting::prepare(to_overwrite, self.workspace.state_dir.as_ref(), sync)?;
        if sync {
            let of_exchanged = to_exchange.iter().map(|file| &file.content.temporary);
            sync_all(&of_exchanged.chain(overwriting.temporaries()).collect::<Vec<_>>())?;
        }
        if let Some(record) = &mut self.record {
            record.prepared(&steps, sync && !is_one_exchange)?;
        }
        overwriting.check()?;
        if cancellation.is_cancelled() {
            let path = to_exchange.first().map(|file| file.place.path().to_owned()).unwrap_or_default();
            return Err(StoreError::new(Operation::Replace, &path, StoreErrorKind::Cancelled));
        }
        if sync {
            self.exchanging = to_exchange.iter().map(|file| file.place.clone()).collect();
        }
        let exchanged = exchange(to_exchange)?;
        if let Err(error) = self.make_final(&exchanged, &overwriting, !is_one_exchange) {
            if self.is_in_doubt() {
                return Err(leave(error, exchanged, overwriting));
            }
            return Err(exchanged.roll_back(error));
        }
        if let Err(error) = overwriting.write() {
            return Err(self.take_back(error, exchanged, overwriting));
        }
        let noted = note();
        let methods = exchanged.methods();
        let (exchanged, are_gone) = exchanged.finish();
        let (overwritten, is_clean) = overwriting.finish();
        let done = Done { methods, noted };
        Ok(Carried { done, exchanged, overwritten, is_clean: is_clean && are_gone })
    }

    /// From here on recovery goes forward.
    fn make_final(
        &mut self,
        exchanged: &Exchanged,
        overwriting: &Overwriting,
        is_recorded: bool,
    ) -> Result<(), StoreError> {
        let sync = self.workspace.durability == Durability::Machine;
        if sync {
            exchanged.sync_directories()?;
            overwriting.sync_directories()?;
        }
        exchanged.check()?;
        overwriting.check()?;
        match &mut self.record {
            Some(record) if is_recorded => record.committed(sync),
            _ => Ok(()),
        }
    }

    /// Takes all back because a file could not be written over; `error` says whether the files that were overwritten have their old bytes
    /// again. If not, and there is a record, all stays as it is: recovery has what it needs to go forward.
    fn take_back(&mut self, error: StoreError, exchanged: Exchanged, overwriting: Overwriting) -> StoreError {
        let is_restored = error.kind != StoreErrorKind::NotRestored;
        match &mut self.record {
            None => {
                if !is_restored {
                    // No other copy has the old bytes.
                    overwriting.leave();
                }
                exchanged.roll_back(error)
            }
            Some(record) => {
                if is_restored && record.take_back(true).is_ok() {
                    return exchanged.roll_back(error);
                }
                leave(error, exchanged, overwriting)
            }
        }
    }
}

/// Leaves everything as it is, to be recovered.
fn leave(error: StoreError, exchanged: Exchanged, overwriting: Overwriting) -> StoreError {
    // Files that could not be put back are told already.
    error.not_restored(exchanged.leave()).leaving(overwriting.leave())
}

/// Where a temporary of a file can be, and what that is called.
fn temporaries_of(workspace: &Workspace, subject: &Subject) -> Result<Vec<(Arc<Dir>, PathBuf)>, PathError> {
    let place = workspace.roots.place(&subject.path)?;
    let beside = Some((place.directory.clone(), subject.path.clone()));
    let elsewhere = |state: &StateDir| (state.content().clone(), state.path().join(CONTENT).join("any"));
    let directories = beside.into_iter().chain(workspace.state_dir.as_ref().map(elsewhere));
    let in_each = |(directory, path): (Arc<Dir>, PathBuf)| {
        let names = [subject.id.name(), subject.id.name_of_old()];
        names.map(|name| (directory.clone(), path.with_file_name(name)))
    };
    Ok(directories.flat_map(in_each).collect())
}

/// Whether there is still a temporary of a file. One that cannot be looked at may be there.
fn has_left(workspace: &Workspace, subject: &Subject) -> bool {
    let is_gone = |(directory, path): (Arc<Dir>, PathBuf)| {
        let about = directory.symlink_metadata(path.file_name().unwrap_or_default());
        about.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    match temporaries_of(workspace, subject) {
        Ok(temporaries) => !temporaries.into_iter().all(is_gone),
        Err(PathError::Failed(error)) => error.kind == StoreErrorKind::Io,
        // Its path leads out of the roots by now.
        Err(_) => false,
    }
}

/// What was made for a file and is there still: temporaries and directories.
fn made_for(workspace: &Workspace, subject: &Subject) -> Vec<Left> {
    let is_there = |(directory, path): &(Arc<Dir>, PathBuf)| {
        directory.symlink_metadata(path.file_name().unwrap_or_default()).is_ok()
    };
    let temporaries = temporaries_of(workspace, subject).unwrap_or_default();
    let temporaries = temporaries.into_iter().filter(is_there).map(|(_, path)| path);
    let directories = match &subject.intent {
        Intent::Create { directories } | Intent::MoveTo { directories } => directories.as_slice(),
        Intent::Edit { .. } | Intent::Remove | Intent::MoveFrom => &[],
    };
    let stands = |path: &&PathBuf| workspace.roots.place(path).is_ok_and(|place| place.identity().is_ok());
    let directories = directories.iter().filter(stands).cloned();
    temporaries.chain(directories).map(|path| Left { path, what: Remains::Made }).collect()
}

/// Waits until all are on disk, many at a time, so that the file system can write them together.
fn sync_all(files: &[&Temporary]) -> Result<(), StoreError> {
    if let [file] = files {
        return file.sync();
    }
    for_all(files, |file| file.sync())
}

/// Does something with each, [`SYNCS`] at a time. The first error counts, and a panic goes on in this thread.
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
