//! Locks files ([`lock_all_with`]) and directories ([`lock_directory`]).
//!
//! Limits the time that a call waits for locks: [`LockTimeout`] has the limit, and [`Backoff`] pauses until
//! the limit is reached.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::access::place::{OpenFile, WritablePlace};
use crate::cancellation::Cancellation;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::observer::Observer;
use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::Patience;

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

/// Locks one file that may be written to, and waits if another call holds the lock.
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
/// `backoff` limits the wait to the time that the call has left.
pub(crate) fn lock_all_with(
    places: &[&WritablePlace],
    is_written: &dyn Fn(usize) -> bool,
    backoff: &mut Backoff<'_>,
) -> Result<LockedSet, Vec<(usize, StoreError)>> {
    loop {
        let leased = match lock_once(places, is_written, backoff) {
            Ok(Some(set)) => return Ok(set),
            // One of the paths leads to another file by now. That is not an error, but the attempts must end
            // at some point.
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
/// Returns `None`, without a lock, if this process may not read the directory or cannot lock it, for instance
/// because the file system has no locks.
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

/// The default maximum time that a call waits for locks.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The number of attempts at a lock before the first real pause: most locks are held for less than a
/// millisecond.
const EAGER: u32 = 8;
/// The first pause. Each pause is twice as long as the one before, up to [`LONGEST`].
const PAUSE: Duration = Duration::from_micros(100);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(5);

/// The bounds of a call's wait for locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockTimeout<'a> {
    /// The maximum time to wait for all locks of a call together. After that time, the error is
    /// [`StoreErrorKind::Busy`].
    pub limit: Duration,
    /// The cancellation, which is checked before each pause, and ends the wait with
    /// [`StoreErrorKind::Cancelled`].
    pub cancellation: Cancellation<'a>,
    /// The observer, which gets the time that the call has waited.
    pub observer: Observer,
}

impl Default for LockTimeout<'_> {
    /// Returns a timeout of [`LIMIT`] that cannot be cancelled.
    fn default() -> Self {
        Self { limit: LIMIT, cancellation: Cancellation::none(), observer: Observer::default() }
    }
}

/// The part of a [`LockTimeout`] that is left. A call has one `Backoff` for all of its locks and attempts.
pub(crate) struct Backoff<'a> {
    start: Instant,
    wait: LockTimeout<'a>,
    eager: u32,
    patience: Patience,
    paused: Duration,
}

impl Drop for Backoff<'_> {
    /// Tells the observer how long the call has waited, if it has waited at all.
    fn drop(&mut self) {
        if self.eager < EAGER {
            (self.wait.observer.lock_waited)(self.paused);
        }
    }
}

impl<'a> Backoff<'a> {
    /// Starts with the whole timeout.
    pub(crate) fn new(wait: &LockTimeout<'a>) -> Self {
        let patience = Patience::new(PAUSE, LONGEST, wait.limit);
        Self { start: Instant::now(), wait: *wait, eager: EAGER, patience, paused: Duration::ZERO }
    }

    /// Returns the time since the wait began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Pauses, longer each time. The first eight pauses only let other threads run. Fails without a pause if
    /// the time is over or the call is cancelled.
    pub(crate) fn pause(&mut self) -> Result<(), StoreErrorKind> {
        if self.wait.cancellation.is_cancelled() {
            return Err(StoreErrorKind::Cancelled);
        }
        let begun = Instant::now();
        // The time of the attempts counts, too, not only the time of the pauses.
        if begun - self.start >= self.wait.limit {
            return Err(StoreErrorKind::Busy);
        }
        if self.eager > 0 {
            self.eager -= 1;
            thread::yield_now();
        } else {
            self.patience.wait();
        }
        self.paused += begun.elapsed();
        Ok(())
    }
}
