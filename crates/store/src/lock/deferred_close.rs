//! Closes replaced files on a separate thread: [`DeferredClose`].
//!
//! When the last handle of a file without a name is closed, the file system frees its blocks. That can take
//! longer than the rest of an edit (2 ms for 100 KB on ext4 without a journal, mounted with `discard`), so
//! replies do not wait for it.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use crate::error::{StoreError, StoreErrorKind};
use crate::lock::file_lock::LockedFile;

/// The maximum number of closes in progress. If there are more, an edit closes its files itself, so that open
/// handles do not accumulate.
const MAX_IN_PROGRESS: u64 = 8;

/// The files that are being closed.
#[derive(Debug, Default)]
pub(crate) struct DeferredClose {
    counts: Arc<Counts>,
    /// The channel to the thread, which starts with the first close and ends when this value is dropped.
    thread: Mutex<Option<Sender<Close>>>,
}

/// The numbers of closes that have begun and that have ended, and the signal that a close has ended.
#[derive(Debug, Default)]
struct Counts {
    counts: Mutex<(u64, u64)>,
    ended: Condvar,
}

/// The number of closes that had ended at one moment. A later comparison shows whether any close has ended
/// since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloseCount(u64);

/// Files to close, and a guard that counts the close as ended once the files are closed.
#[derive(Debug)]
struct Close {
    _files: Vec<LockedFile>,
    _under_way: UnderWay,
}

/// A close in progress. The close counts as ended when this value is dropped, even by a panic.
#[derive(Debug)]
struct UnderWay(Arc<Counts>);

impl Counts {
    fn get(&self) -> MutexGuard<'_, (u64, u64)> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.get().1 += 1;
        self.0.ended.notify_all();
    }
}

impl DeferredClose {
    /// Closes files that have lost their names. Their locks may be held until they are closed. That is
    /// harmless: a call that waits for such a lock then finds that the path leads to another file, and opens
    /// that file.
    pub(crate) fn close(&self, files: Vec<LockedFile>) {
        if files.is_empty() {
            return;
        }
        let (under_way, number) = self.begin();
        let close = Close { _files: files, _under_way: under_way };
        if number > MAX_IN_PROGRESS {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            *thread = start();
        }
        // Without a thread, the files are closed here.
        if let Some(thread) = &*thread {
            thread.send(close).ok();
        }
    }

    /// Counts one more close. Also returns the number of closes in progress, including this one.
    fn begin(&self) -> (UnderWay, u64) {
        let mut counts = self.counts.get();
        counts.0 += 1;
        (UnderWay(self.counts.clone()), counts.0 - counts.1)
    }

    /// Returns the present count. Must be called before work that may run out of disk space.
    pub(crate) fn now(&self) -> CloseCount {
        CloseCount(self.counts.get().1)
    }

    /// Tells whether another attempt makes sense after `error`: the error says that the disk is full, and
    /// closes have ended since the count `since` was taken. Waits for the closes in progress.
    pub(crate) fn makes_room(&self, since: CloseCount, error: &StoreError) -> bool {
        if error.kind != StoreErrorKind::NoSpace {
            return false;
        }
        let mut counts = self.counts.get();
        // Does not wait for closes that begin meanwhile, since new closes could begin forever.
        let begun = counts.0;
        while counts.1 < begun {
            counts = self.counts.ended.wait(counts).unwrap_or_else(PoisonError::into_inner);
        }
        counts.1 > since.0
    }

    /// Does some work, and repeats it as long as closed files may have freed the disk space for it.
    pub(crate) fn with_room<T>(
        &self,
        mut work: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        loop {
            let since = self.now();
            match work() {
                Err(error) if self.makes_room(since, &error) => {}
                done => return done,
            }
        }
    }
}

/// Starts the thread, if the system lets it.
fn start() -> Option<Sender<Close>> {
    let (thread, closes) = mpsc::channel();
    let close_all = move || closes.into_iter().for_each(drop::<Close>);
    Builder::new().name("close".to_owned()).spawn(close_all).ok().map(|_| thread)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::error::Operation;
    use crate::lock::{LockTimeout, lock};
    use crate::tests::world::World;

    fn full() -> StoreError {
        StoreError::new(Operation::WriteTemporary, Path::new("a"), StoreErrorKind::NoSpace)
    }

    #[test]
    fn all_who_find_no_room_wait_for_what_is_being_closed() {
        let closing = DeferredClose::default();
        let (under_way, _) = closing.begin();
        let begun = Barrier::new(3);
        thread::scope(|scope| {
            let wait = || {
                let since = closing.now();
                begun.wait();
                closing.makes_room(since, &full())
            };
            let waiting = [scope.spawn(wait), scope.spawn(wait)];
            begun.wait();
            drop(under_way);
            assert!(waiting.map(|one| one.join().unwrap()).iter().all(|makes_room| *makes_room));
        });
    }

    /// So open handles do not accumulate.
    #[test]
    #[cfg_attr(miri, ignore = "Miri opens no directory as a place alone")]
    fn what_is_more_than_a_few_is_closed_at_once() {
        let world = World::new();
        world.write("@/root/a", "");
        let closing = DeferredClose::default();
        let under_way: Vec<_> = (0..MAX_IN_PROGRESS).map(|_| closing.begin()).collect();
        closing.close(vec![lock(&world.place("@/root/a"), &LockTimeout::default()).unwrap()]);
        assert_eq!(closing.now().0, 1);
        assert!(closing.thread.lock().unwrap().is_none(), "no thread was needed");
        drop(under_way);
    }

    #[test]
    fn what_was_closed_meanwhile_counts_once() {
        let closing = DeferredClose::default();
        let mut tries = 0;
        let done = closing.with_room(|| {
            tries += 1;
            if tries == 1 {
                drop(closing.begin());
            }
            Err::<(), _>(full())
        });
        assert_eq!((done.unwrap_err().kind, tries), (StoreErrorKind::NoSpace, 2));
        assert!(!closing.makes_room(closing.now(), &full()));
    }
}
