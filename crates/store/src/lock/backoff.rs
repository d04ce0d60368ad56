//! Limits the time that a call waits for locks: [`LockTimeout`], and the rest of it, [`Backoff`].

use std::thread;
use std::time::{Duration, Instant};

use crate::cancellation::Cancellation;
use crate::error::StoreErrorKind;
use crate::observer::Observer;
use crate::os::patience::Patience;

/// The default of the maximum time that a call waits for locks.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The number of attempts at a lock before the first pause: most locks are held for less than a millisecond.
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

/// The rest of a [`LockTimeout`]. A call has one for all of its locks and attempts.
pub(crate) struct Backoff<'a> {
    start: Instant,
    wait: LockTimeout<'a>,
    eager: u32,
    patience: Patience,
    paused: Duration,
}

impl Drop for Backoff<'_> {
    /// Tells the observer how long the call has waited, if it has.
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

    /// Waits for the next pause, which is longer each time. Fails without waiting if the time is over or the
    /// call is cancelled.
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
