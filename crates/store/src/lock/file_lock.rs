//! Locks files ([`lock_all_with`]) and directories ([`lock_directory`]).

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::access::place::{OpenFile, WritablePlace};
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::lock::backoff::{Backoff, LockTimeout};
use crate::os;
use crate::os::directory::Dir;

/// A locked file: until this value is dropped, no other call edits the file, in any process of this server.
#[derive(Debug)]
#[must_use = "dropping it lets go of the lock"]
pub(crate) struct LockedFile {
    file: OpenFile,
    is_guarded: bool,
}

impl LockedFile {
    /// Returns the file, open for reading, with the identity that it had once the lock was held.
    #[must_use]
    pub(crate) fn file(&self) -> &OpenFile {
        &self.file
    }

    /// Tells whether the file is really locked; `false` on a file system without locks, for which replies
    /// have a warning.
    #[must_use]
    pub(crate) fn is_guarded(&self) -> bool {
        self.is_guarded
    }
}

/// The files of one call, each locked once.
#[derive(Debug, Default)]
#[must_use = "dropping it lets go of the locks"]
pub(crate) struct LockedSet {
    /// The files, in the order of the first place that leads to each.
    pub files: Vec<LockedFile>,
    /// For each place, the index of its file in `files`. Places of the same file (same device and inode) have
    /// the same index.
    pub file_of: Vec<usize>,
}

/// Locks one file that may be written to, and waits if another call holds it.
///
/// The error for a file without write permission is [`StoreErrorKind::PermissionDenied`], even though its
/// directory would let it be replaced. Each call opens the file anew, so threads of one process exclude each
/// other, too.
#[cfg(test)]
pub(crate) fn lock(place: &WritablePlace, wait: &LockTimeout<'_>) -> Result<LockedFile, StoreError> {
    let locked = lock_all(&[place], wait).map_err(|mut problems| problems.remove(0).1);
    locked.map(|mut set| set.files.remove(0))
}

/// Locks files as [`lock_all_with`] does, with the whole timeout.
#[cfg(test)]
pub(crate) fn lock_all(
    places: &[&WritablePlace],
    wait: &LockTimeout<'_>,
) -> Result<LockedSet, Vec<(usize, StoreError)>> {
    lock_all_with(places, &|_| true, &mut Backoff::new(wait))
}

/// Locks the files of a call, in the order of device and inode. So two calls never wait for each other in a
/// deadlock.
///
/// Every place that cannot be opened is reported, by its index, before anything is locked. So is every place
/// for which `is_written` returns `true` although this process has no write permission. If another program
/// has a lease on a file (fcntl(2)), the call waits instead. If one lock cannot be taken, no lock is kept.
/// `backoff` has the rest of the call's time.
pub(crate) fn lock_all_with(
    places: &[&WritablePlace],
    is_written: &dyn Fn(usize) -> bool,
    backoff: &mut Backoff<'_>,
) -> Result<LockedSet, Vec<(usize, StoreError)>> {
    loop {
        let leased = match lock_once(places, is_written, backoff) {
            Ok(Some(set)) => return Ok(set),
            // One of the paths leads to another file by now. That is not an error, but the attempts must end
            // at some time.
            Ok(None) => Vec::new(),
            Err(problems) if problems.iter().all(|(_, error)| error.is_leased()) => problems,
            Err(problems) => return Err(problems),
        };
        if let (Err(kind), Some(place)) = (backoff.pause(), places.first()) {
            let is_told = kind == StoreErrorKind::Busy && !leased.is_empty();
            let error = StoreError::new(Operation::Lock, place.path(), kind);
            return Err(if is_told { leased } else { vec![(0, error)] });
        }
    }
}

/// Makes one attempt to lock all files. Returns `None` if, once all were locked, one of the paths led to
/// another file.
fn lock_once(
    places: &[&WritablePlace],
    is_written: &dyn Fn(usize) -> bool,
    backoff: &mut Backoff<'_>,
) -> Result<Option<LockedSet>, Vec<(usize, StoreError)>> {
    let (mut problems, mut opened, mut keys) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (at, place) in places.iter().enumerate() {
        let check = || if is_written(at) { place.check_writable() } else { Ok(()) };
        match place.open_file(false).and_then(|file| check().map(|()| file)) {
            Err(error) => problems.push((at, error)),
            Ok(file) => {
                keys.push(file.identity().key());
                opened.entry(file.identity().key()).or_insert((at, place, file));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut locked = Vec::new();
    for (key, (at, place, file)) in opened {
        match wait_for(file, place, backoff).map_err(|error| vec![(at, error)])? {
            Some(file) => locked.push((at, key, file)),
            None => return Ok(None),
        }
    }
    locked.sort_unstable_by_key(|(at, ..)| *at);
    let index_of: BTreeMap<_, _> =
        locked.iter().enumerate().map(|(index, (_, key, _))| (*key, index)).collect();
    let file_of: Vec<usize> = keys.iter().filter_map(|key| index_of.get(key).copied()).collect();
    let files: Vec<LockedFile> = locked.into_iter().map(|(.., file)| file).collect();
    let still_means = |(place, file): (&&WritablePlace, &usize)| {
        files
            .get(*file)
            .is_some_and(|locked| place.identity().is_ok_and(|now| now.same_file(locked.file.identity())))
    };
    let all = places.iter().zip(&file_of).all(still_means);
    Ok(all.then_some(LockedSet { files, file_of }))
}

/// Waits for a lock. Returns `None` if the path led to another file before the lock was free.
fn wait_for(
    file: OpenFile,
    place: &WritablePlace,
    backoff: &mut Backoff<'_>,
) -> Result<Option<LockedFile>, StoreError> {
    let fail = |kind| Err(StoreError::new(Operation::Lock, place.path(), kind));
    let mut file = file;
    let mut may_reopen = true;
    loop {
        let is_guarded = match os::try_lock(file.file()) {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                // The holder has replaced the file: a lock on the old inode protects nothing.
                if !place.identity().is_ok_and(|now| now.same_file(file.identity())) {
                    return Ok(None);
                }
                if let Err(kind) = backoff.pause() {
                    return fail(kind);
                }
                continue;
            }
            Err(TryLockError::Error(error)) if os::has_no_locks(&error) => false,
            Err(TryLockError::Error(error)) if may_reopen && os::lock_needs_writing(&error) => {
                may_reopen = false;
                file = place.open_file(true)?;
                continue;
            }
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::from_io(Operation::Lock, place.path(), error));
            }
        };
        return Ok(Some(LockedFile { file: file.refreshed()?, is_guarded }));
    }
}

/// Keeps other processes of this server from exchanging files in a directory until the returned value is
/// dropped. `path` is for the error.
///
/// Locks nothing where the directory may not be read or the file system has no locks.
pub(crate) fn lock_directory(directory: &Dir, path: &Path) -> Result<Option<File>, StoreError> {
    let directory = match os::open_to_read(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied || os::is_unsupported(&error) => {
            return Ok(None);
        }
        opened => opened.context(Operation::Lock, path)?,
    };
    let wait = LockTimeout::default();
    let mut backoff = Backoff::new(&wait);
    loop {
        match os::try_lock(&directory) {
            Ok(()) => return Ok(Some(directory)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                backoff.pause().map_err(|kind| StoreError::new(Operation::Lock, path, kind))?;
            }
        }
    }
}
