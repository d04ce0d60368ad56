//! How long is waited for a program that holds a file open and so keeps others from it, as scanners, indexers and editors of Windows
//! do for a moment: [`Patience`]. No other system has this, so there nobody waits.

use std::io;
use std::thread;
use std::time::Duration;

use crate::os;

/// The first pause, which doubles.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(100);
/// How long is waited in all; the tries come in addition.
const LIMIT: Duration = Duration::from_secs(2);

/// What is left of the wait for one operation.
#[derive(Debug)]
pub(crate) struct Patience {
    pause: Duration,
    left: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { pause: PAUSE, left: LIMIT }
    }
}

impl Patience {
    /// Waits a little, longer each time, if `error` says that somebody holds the file open. `false` if another try would not help, or
    /// the time is over.
    pub(crate) fn waits_for(&mut self, error: &io::Error) -> bool {
        if self.left.is_zero() || !os::is_held_open(error) {
            return false;
        }
        let pause = self.pause.min(self.left);
        thread::sleep(pause);
        self.left -= pause;
        self.pause = (self.pause * 2).min(LONGEST);
        true
    }
}

/// Waits a little before the next of some attempts, longer each time: another machine may replace a file again and again, and what this
/// one knows of its name is old for a moment.
pub(crate) fn wait_for_another_machine(attempt: usize) {
    let doublings = u32::try_from(attempt).unwrap_or(u32::MAX).min(6);
    thread::sleep((PAUSE * (1 << doublings)).min(LONGEST));
}

/// How often a name is looked up that another machine replaces meanwhile.
const LOOK_UPS: usize = 5;

/// Looks up again what another machine has just replaced (ESTALE).
pub(crate) fn while_stale<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempt = 1;
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle && attempt < LOOK_UPS => {
                wait_for_another_machine(attempt);
                attempt += 1;
            }
            done => return done,
        }
    }
}

/// Tries until nobody who holds the file open is in the way, or the time is over.
pub(crate) fn while_held<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut patience = Patience::default();
    loop {
        match act() {
            Err(error) if patience.waits_for(&error) => {}
            done => return done,
        }
    }
}
