//! How long is waited for what others do to a file for a moment: [`Patience`]. Scanners, indexers and editors of Windows hold it open and
//! so keep others from it; another machine replaces it, and a network file system knows the old one still.

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
        os::is_held_open(error) && self.wait()
    }

    /// Waits a little, longer each time. `false` if the time is over.
    pub(crate) fn wait(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let pause = self.pause.min(self.left);
        thread::sleep(pause);
        self.left -= pause;
        self.pause = (self.pause * 2).min(LONGEST);
        true
    }
}

/// Looks up again what another machine has just replaced (ESTALE).
pub(crate) fn while_stale<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut patience = Patience::default();
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle && patience.wait() => {}
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
