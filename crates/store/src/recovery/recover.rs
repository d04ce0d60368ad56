//! Recovers the calls of processes that died, by their records in the journal: [`recover`] handles all
//! records at the start of a process, and [`try_recover`] one record.

use std::path::{Path, PathBuf};
use std::thread;

use crate::access::place::WritablePlace;
use crate::commit::exchange::sync_directories_of;
use crate::commit::table::RecordedCall;
use crate::commit::world::{TakenBackBy, World, remove_directories};
use crate::durability::Durability;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::{Contents, FoundRecord, Intent, Step};
use crate::lock::{Backoff, LockTimeout, LockedFile, lock_all_with};
use crate::workspace::Workspace;

/// Completes or rolls back the calls of processes that died. Must be called at the start of a process that is
/// allowed to write. A failure is logged, and recovery is tried again before each edit.
pub(crate) fn recover(workspace: &Workspace) {
    let Some(journal) = workspace.journal() else { return };
    match journal.all() {
        Ok(found) => {
            for record in found.into_iter().filter(|record| record.is_abandoned()) {
                if record.contents().of_other_form.is_some() {
                    tracing::warn!(record = %record.path().display(), "an edit that was cut off was another version's, which alone can end it");
                } else if may_recover(workspace, record.contents()) {
                    // `try_recover` logs a failure of the recovery.
                    try_recover(workspace, record, &mut Backoff::new(&LockTimeout::default())).ok();
                }
            }
        }
        Err(error) => tracing::warn!(%error, cause = ?error.source, "the journal cannot be read"),
    }
}

/// Tells whether this process is allowed to recover a record: its format version is known, all its files are
/// in the roots, and this machine can wait until its caches are at least as new as the record.
pub(super) fn may_recover(workspace: &Workspace, contents: &Contents) -> bool {
    contents.of_other_form.is_none()
        && contents.subjects.iter().all(|subject| place_of(workspace, &subject.path).is_some())
        && workspace.cache_lifetime(contents.paths()).is_some()
}

/// Recovers the call of a record. A failure is returned with the record's path, and logged unless the record
/// could not even be taken over. The error is `None` if only unlinking the record failed.
pub(super) fn try_recover(
    workspace: &Workspace,
    mut record: Box<dyn FoundRecord>,
    backoff: &mut Backoff<'_>,
) -> Result<(), (PathBuf, Option<Box<StoreError>>)> {
    let path = record.path().to_owned();
    match record.take_over() {
        Ok(true) => {}
        // Another process is recovering the record. A call that waits for the files sees the result.
        Ok(false) => return Ok(()),
        Err(error) => return Err((path, Some(of_recovery(error).into()))),
    }
    if record.epoch() > 0 {
        thread::sleep(workspace.cache_lifetime(record.contents().paths()).unwrap_or_default());
    }
    let committed = record.contents().committed;
    let files: Vec<PathBuf> = record.contents().subjects.iter().map(|subject| subject.path.clone()).collect();
    let is_gone = match recover_record(workspace, record, backoff) {
        Ok(is_gone) => is_gone,
        Err(error) => {
            tracing::warn!(%error, ?files, "an edit that was cut off cannot be recovered");
            return Err((path, Some(of_recovery(error).into())));
        }
    };
    if !is_gone {
        tracing::warn!(record = %path.display(), "the record of an edit that was cut off cannot be unlinked");
        return Err((path, None));
    }
    if committed || !files.is_empty() {
        (workspace.observer.recovered)();
    }
    if committed {
        tracing::warn!(?files, "an edit that was cut off has been ended");
    } else if !files.is_empty() {
        // If the record names no files, its owner died before it changed anything.
        tracing::warn!(?files, "an edit that was cut off has been taken back");
    }
    Ok(())
}

/// Returns the place (an open directory and a name in it) of a path that a record names; `None` if the path
/// is not in a root, or leads elsewhere by now.
fn place_of(workspace: &Workspace, path: &Path) -> Option<WritablePlace> {
    let place = workspace.roots.place(path).ok().filter(|place| place.path() == path);
    // The access policy is not checked: a file that is restored existed before, or was permitted when the
    // call began.
    place.map(WritablePlace::permitted)
}

/// Tells whether an error of opening a file says that no regular file is at the path. If so, no file of the
/// transaction is there.
fn is_no_file(error: &StoreError) -> bool {
    use StoreErrorKind::{IsADirectory, LinkLoop, NotADirectory, NotARegularFile, NotFound};
    matches!(error.kind, NotFound | NotADirectory | IsADirectory | LinkLoop | NotARegularFile { .. })
}

/// Converts an error of recovery to an error of the current call, which has not begun. Kinds that a client
/// can act on are kept. The other kinds become [`StoreErrorKind::Io`], because they concern files that the
/// current call did not name.
fn of_recovery(error: StoreError) -> StoreError {
    use StoreErrorKind::{Busy, Cancelled, Changed, FileTooLarge, HeldOpen, Io, NoSpace};
    let StoreError { path, kind, source, .. } = error;
    let source = source.or_else(|| Some(std::io::Error::other(kind.to_string())));
    let kind = if matches!(kind, Busy | Cancelled | Changed | FileTooLarge | HeldOpen | NoSpace) {
        kind
    } else {
        Io
    };
    StoreError {
        operation: Operation::Recover,
        path,
        kind,
        name: None,
        suggested: None,
        left: Vec::new(),
        source,
    }
}

/// Recovers all files of a record, then removes the record. Returns whether the record is gone.
fn recover_record(
    workspace: &Workspace,
    record: Box<dyn FoundRecord>,
    backoff: &mut Backoff<'_>,
) -> Result<bool, StoreError> {
    let contents = record.contents();
    let places = contents.subjects.iter().map(|subject| place_of(workspace, &subject.path));
    let Some(places) = places.collect::<Option<Vec<WritablePlace>>>() else {
        // One of the paths leads elsewhere by now.
        return Err(StoreError::new(Operation::Recover, record.path(), StoreErrorKind::Changed));
    };
    let call = RecordedCall::new(contents, record.epoch() > 0);
    let mut world = World::new(workspace, TakenBackBy::Recovery(&*record), call, &places, Vec::new());
    world.fence()?;
    world.forget_stale_names()?;
    let mut there = Vec::new();
    for place in &places {
        match place.open_file(false) {
            Ok(_) => there.push(place),
            Err(error) if is_no_file(&error) => {}
            // A file that cannot be opened now may be partly changed, so the record stays.
            Err(error) => return Err(error),
        }
    }
    let locked = lock_all_with(&there, &|_| false, backoff).map_err(|problems| {
        let first = problems.into_iter().next().map(|(_, error)| error);
        first.unwrap_or_else(|| StoreError::new(Operation::Lock, record.path(), StoreErrorKind::Changed))
    })?;
    let handles = locked.files.iter().map(LockedFile::file);
    world.handles = handles.map(|file| (*file.identity(), file.file())).collect();
    world.settle()?;
    let sync = workspace.durability == Durability::Machine;
    if sync {
        sync_directories_of(places.iter())?;
    }
    // The temporary files are not needed once the files are in their final state.
    (0..places.len()).try_for_each(|index| world.discard(index))?;
    drop(world);
    drop((there, locked));
    drop(places);
    let is_one_step = call.is_one_step;
    // Directories that were created for a file that was finally not created, or was removed, are not needed
    // either. They are removed last, since Windows removes no directory that has an open handle.
    let made = contents.subjects.iter().filter_map(|subject| match &subject.intent {
        Intent::Create { directories } | Intent::MoveTo { directories } => Some(directories),
        _ => None,
    });
    record.prove()?;
    // A directory that is in use stays.
    remove_directories(workspace, made.flatten()).ok();
    let left = contents.steps.iter().flatten().filter_map(|step| match step {
        Step::Remove { directories, .. } if contents.committed => Some(directories),
        // A directory that still contains the file stays.
        Step::Move { directories, .. } if contents.committed || is_one_step => Some(directories),
        _ => None,
    });
    remove_directories(workspace, left.flatten())?;
    Ok(record.remove(sync))
}
