//! The wait for what others do to a file for a moment, with pauses that grow: [`Patience`]. Scanners,
//! indexers and editors of Windows hold it open and so keep others from it; another machine replaces it, and
//! a network file system knows the old one still.

use std::io;
use std::thread;
use std::time::Duration;

use crate::os;

/// The rest of the wait for one operation.
#[derive(Debug)]
pub(crate) struct Patience {
    /// The next pause; each is twice as long as the one before.
    pause: Duration,
    longest: Duration,
    /// The time that is waited in all; the tries come in addition.
    left: Duration,
}

impl Default for Patience {
    /// Waits for two seconds.
    fn default() -> Self {
        Self::new(Duration::from_millis(1), Duration::from_millis(100), Duration::from_secs(2))
    }
}

impl Patience {
    /// Returns all of a wait, of which the first pause and the longest one are given, too.
    pub(crate) fn new(pause: Duration, longest: Duration, left: Duration) -> Self {
        Self { pause, longest, left }
    }

    /// Waits a little, longer each time, if `error` says that somebody holds the file open. `false` if
    /// another try would not help, or the time is over.
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
        self.pause = (self.pause * 2).min(self.longest);
        true
    }
}

/// Looks up again what another machine has just replaced (ESTALE).
pub(crate) fn while_stale<T>(act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    again_while(|error| error.kind() == io::ErrorKind::StaleNetworkFileHandle, act)
}

/// Tries until nobody who holds the file open is in the way, or the time is over.
pub(crate) fn while_held<T>(act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    again_while(os::is_held_open, act)
}

fn again_while<T>(
    is_passing: impl Fn(&io::Error) -> bool,
    mut act: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut patience = Patience::default();
    loop {
        match act() {
            Err(error) if is_passing(&error) && patience.wait() => {}
            done => return done,
        }
    }
}
