//! Retries an operation for a moment, with growing pauses, while other programs prevent it: [`Patience`]. On
//! Windows, scanners, indexers and editors that have a file open prevent others from using it. On a network
//! file system, another machine may have replaced a file, while this machine still caches the old file.

use std::io;
use std::thread;
use std::time::Duration;

use crate::os;

/// The waiting time that is left for one operation.
#[derive(Debug)]
pub(crate) struct Patience {
    /// The next pause. Each pause is twice as long as the one before, up to the longest.
    pause: Duration,
    longest: Duration,
    /// The time that is left for pauses. The time that the attempts themselves take does not count.
    left: Duration,
}

impl Default for Patience {
    /// Returns a `Patience` with a total waiting time of two seconds.
    fn default() -> Self {
        Self::new(Duration::from_millis(1), Duration::from_millis(100), Duration::from_secs(2))
    }
}

impl Patience {
    /// Returns a `Patience` with the total waiting time `left`. The first pause is `pause`, and no pause is
    /// longer than `longest`.
    pub(crate) fn new(pause: Duration, longest: Duration, left: Duration) -> Self {
        Self { pause, longest, left }
    }

    /// Waits for the next pause if `error` says that another program holds the file open. Returns `false`,
    /// without waiting, for any other error, or if no waiting time is left.
    pub(crate) fn waits_for(&mut self, error: &io::Error) -> bool {
        os::is_held_open(error) && self.wait()
    }

    /// Waits for the next pause. Returns `false`, without waiting, if no waiting time is left.
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

/// Calls `act` again while its error says that another machine has just replaced the file (ESTALE), for at
/// most two seconds of pauses.
pub(crate) fn while_stale<T>(act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    again_while(is_stale, Patience::default(), act)
}

/// Calls `act` again while its error says that another program holds the file open, for at most two seconds
/// of pauses.
pub(crate) fn while_held<T>(act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    again_while(os::is_held_open, Patience::default(), act)
}

fn is_stale(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StaleNetworkFileHandle
}

fn again_while<T>(
    is_passing: impl Fn(&io::Error) -> bool,
    mut patience: Patience,
    mut act: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if is_passing(&error) && patience.wait() => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use io::ErrorKind::{NotFound, StaleNetworkFileHandle};

    use super::*;

    #[test]
    fn only_what_passes_is_waited_for() {
        let tries = |failures: usize, kind: io::ErrorKind| {
            let mut tries = 0;
            let done = while_stale(|| {
                tries += 1;
                if tries <= failures { Err(io::Error::from(kind)) } else { Ok(()) }
            });
            (tries, done.is_ok())
        };
        assert_eq!(tries(0, StaleNetworkFileHandle), (1, true));
        assert_eq!(tries(3, StaleNetworkFileHandle), (4, true));
        assert_eq!(tries(3, NotFound), (1, false));
        assert!(!Patience::default().waits_for(&NotFound.into()));
    }

    #[test]
    fn what_does_not_pass_in_time_is_an_error() {
        let of = Duration::from_micros;
        let mut tries = 0;
        let done: io::Result<()> = again_while(is_stale, Patience::new(of(1), of(1), of(3)), || {
            tries += 1;
            Err(StaleNetworkFileHandle.into())
        });
        assert_eq!((tries, done.unwrap_err().kind()), (4, StaleNetworkFileHandle));
    }

    #[test]
    fn a_wait_ends_with_its_time_and_each_pause_is_longer_up_to_the_longest() {
        let of = Duration::from_micros;
        let mut patience = Patience::new(of(1), of(3), of(9));
        let mut pauses = Vec::new();
        loop {
            let before = patience.left;
            if !patience.wait() {
                break;
            }
            pauses.push(before.checked_sub(patience.left).unwrap());
        }
        assert_eq!(pauses, [of(1), of(2), of(3), of(3)]);
    }
}
