//! The identity of a file in one state, as data: [`Identity`], and [`FileKey`], the part of it that lasts.
//! `os::identity_of`, `os::identity_with` and `os::identity_at` in the platforms' files make it.

use std::num::NonZeroI64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest step of file times that come from the kernel's tick.
const TICK: Duration = Duration::from_millis(20);
/// The longest step of file times that are kept in seconds, or, on FAT, in units of two seconds.
const COARSE_TICK: Duration = Duration::from_millis(2_500);

/// The facts that tell one state of a file from another without reading it (stat(2)).
///
/// Device and inode numbers mean nothing across a reboot. If a program writes and then sets `mtime` back,
/// only `ctime` shows it. But `ctime` also changes with any rename.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    /// The device that holds the file.
    pub device: u64,
    /// The file's number on that device.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of its content, in nanoseconds since 1970. It comes in steps of the
    /// kernel's clock, often of 1 to 4 ms.
    pub mtime: i128,
    /// The time of the last change of its content, mode, owner, links or name, in the same unit; `mtime` if
    /// the platform has no such time.
    pub ctime: i128,
    /// The time at which the file was created, in the same unit, where the file system keeps it.
    pub born: Option<NonZeroI64>,
}

/// The part of a file's identity that lasts as long as the file exists, whatever its names, also across a
/// reboot: its number, and the time at which it was created, since another file can get the number later. The
/// device's number is left out: it can differ after a reboot, and on another machine. Equal keys mean one
/// file only where `os::identity_lasts` is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileKey {
    /// Its number.
    pub inode: u64,
    /// The time of its creation, in nanoseconds since 1970, where the file system keeps it.
    pub born: Option<NonZeroI64>,
}

impl FileKey {
    /// Whether both can be keys of one file. Without a time of creation, only the numbers are compared.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.inode == other.inode && (self.born == other.born || self.born.is_none() || other.born.is_none())
    }
}

impl Identity {
    /// Tells whether both are one file, whatever its content.
    #[must_use]
    pub fn same_file(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Tells whether both are one file with one content, as far as its size and the time of its last change
    /// show. Unlike equality, this survives a rename.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        self.same_file(other) && self.size == other.size && self.mtime == other.mtime
    }

    /// Tells whether any change of the file after `began` must show in the file's times.
    #[must_use]
    pub fn has_settled(&self, began: SystemTime) -> bool {
        settles(&[self.mtime, self.ctime], began)
    }

    /// Tells whether any change of the file's content after `began` must show in `mtime`.
    #[must_use]
    pub fn has_settled_content(&self, began: SystemTime) -> bool {
        settles(&[self.mtime], began)
    }

    /// Returns the part that lasts as long as the file.
    pub(crate) fn file_key(&self) -> FileKey {
        FileKey { inode: self.inode, born: self.born }
    }

    /// Returns device and inode: the order in which locks are taken.
    #[must_use]
    pub fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Tells whether each of these times lies more than one step of the clock before `began`.
fn settles(times: &[i128], began: SystemTime) -> bool {
    let began = began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let is_coarse = times.iter().all(|time| time % 10_000_000 == 0);
    let tick = if is_coarse { COARSE_TICK } else { TICK };
    let tick = i128::try_from(tick.as_nanos()).unwrap_or(i128::MAX / 2);
    i128::try_from(began).is_ok_and(|began| times.iter().all(|time| time + tick < began))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time that a clock of fine steps gives, and one of a clock that counts in seconds.
    const FINE: i128 = 1_700_000_000_123_456_789;
    const COARSE: i128 = 1_700_000_000_000_000_000;

    fn identity(mtime: i128, ctime: i128) -> Identity {
        Identity { device: 1, inode: 2, size: 3, mtime, ctime, born: None }
    }

    fn after(time: i128, more: Duration) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(time).unwrap()) + more
    }

    #[test]
    fn a_file_has_settled_once_its_times_lie_more_than_a_step_of_the_clock_back() {
        for (time, step) in [(FINE, 20), (COARSE, 2_500)] {
            let step = Duration::from_millis(step);
            for (more, expected) in
                [(Duration::ZERO, false), (step, false), (step + Duration::from_micros(1), true)]
            {
                let began = after(time, more);
                assert_eq!(identity(time, time).has_settled(began), expected, "{more:?}");
                assert_eq!(identity(time, 0).has_settled_content(began), expected, "{more:?}");
            }
        }
        // A rename changes one of the times only, and the other shows that the clock is fine.
        let renamed = identity(COARSE, FINE);
        assert!(!renamed.has_settled(after(FINE, Duration::ZERO)));
        assert!(renamed.has_settled(after(FINE, Duration::from_secs(1))));
        assert!(renamed.has_settled_content(after(COARSE, Duration::from_secs(3))));
        // A clock that is set before 1970 tells nothing.
        assert!(!identity(COARSE, COARSE).has_settled(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[cfg(unix)]
    #[test]
    fn times_are_known_to_the_nanosecond() {
        let file = tempfile::tempfile().unwrap();
        file.set_modified(after(FINE, Duration::ZERO)).unwrap();
        let now = crate::os::identity_of(&file).unwrap();
        assert_eq!((now.mtime, now.size), (FINE, 0));
        let changed = i128::try_from(UNIX_EPOCH.elapsed().unwrap().as_nanos()).unwrap() - now.ctime;
        assert!((-10_000_000_000..600_000_000_000).contains(&changed), "{changed}");
    }
}
