//! Defines the identity of a file in one state, [`Identity`], and the part of it that lasts, [`FileKey`]. The
//! functions `identity_of`, `identity_with` and `identity_at` of [`crate::os`] determine a file's identity.

use std::num::NonZeroI64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest step between two file times that come from the kernel's clock tick.
const TICK: Duration = Duration::from_millis(20);
/// The longest step between two file times that the file system stores in seconds or, on FAT, in units of two
/// seconds.
const COARSE_TICK: Duration = Duration::from_millis(2_500);

/// The facts that distinguish the states of a file without reading the file (stat(2)).
///
/// Identities must not be compared across a reboot, because a device can get another number. If a program
/// writes to the file and then sets `mtime` back, only `ctime` shows the change. But any rename also changes
/// `ctime`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    /// The device that holds the file.
    pub device: u64,
    /// The file's number on that device.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of the file's content, in nanoseconds since 1970. The resolution of the
    /// time is a step of the kernel's clock, often 1 to 4 ms.
    pub mtime: i128,
    /// The time of the last change of the file's content, mode, owner, links or name, in the same unit.
    /// Equals `mtime` if the platform has no such time.
    pub ctime: i128,
    /// The time at which the file was created, in the same unit; `None` if the file system does not store it.
    pub born: Option<NonZeroI64>,
}

/// The part of a file's identity that stays the same as long as the file exists, even after renames and
/// reboots: the file's number, and the time of its creation, since another file can get the number later. The
/// device's number is not part of the key, since it can differ after a reboot, and on another machine. Equal
/// keys mean the same file only where `os::identity_lasts` is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileKey {
    /// The file's number (inode).
    pub inode: u64,
    /// The time of its creation, in nanoseconds since 1970; `None` if the file system does not store it.
    pub born: Option<NonZeroI64>,
}

impl FileKey {
    /// Whether both can be keys of the same file. If one has no time of creation, only the numbers are
    /// compared.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.inode == other.inode && (self.born == other.born || self.born.is_none() || other.born.is_none())
    }
}

impl Identity {
    /// Tells whether both are the same file, whatever its content.
    #[must_use]
    pub fn same_file(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Tells whether both are the same file with the same content, as far as the size and `mtime` show. A
    /// rename does not affect the result, whereas it makes two identities unequal.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        self.same_file(other) && self.size == other.size && self.mtime == other.mtime
    }

    /// Tells whether any change of the file after `began` is certain to change the file's times. File times
    /// are coarse: a change just after the last one could leave them the same.
    #[must_use]
    pub fn has_settled(&self, began: SystemTime) -> bool {
        settles(&[self.mtime, self.ctime], began)
    }

    /// Tells whether any change of the file's content after `began` is certain to change `mtime`.
    #[must_use]
    pub fn has_settled_content(&self, began: SystemTime) -> bool {
        settles(&[self.mtime], began)
    }

    /// Returns the part of the identity that lasts as long as the file.
    pub(crate) fn file_key(&self) -> FileKey {
        FileKey { inode: self.inode, born: self.born }
    }

    /// Returns the numbers of the device and of the inode. Locks are taken in the order of these keys.
    #[must_use]
    pub fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Tells whether each of these times is more than one clock step earlier than `began`.
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

    /// A time from a clock with fine steps, and a time from a clock that counts in seconds.
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
        // A rename changes only one of the times. Here, the changed time shows that the clock has fine steps.
        let renamed = identity(COARSE, FINE);
        assert!(!renamed.has_settled(after(FINE, Duration::ZERO)));
        assert!(renamed.has_settled(after(FINE, Duration::from_secs(1))));
        assert!(renamed.has_settled_content(after(COARSE, Duration::from_secs(3))));
        // If the clock is set to a time before 1970, nothing is certain.
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
