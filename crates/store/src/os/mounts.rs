//! The mounts that this process sees, as Linux lists them, and what the machine calls itself.
//!
//! What they mean is said elsewhere; systems that list no mounts have none.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// A list of mounts, read anew each time. It is opened once: later Landlock would deny it.
pub(crate) struct MountList(Option<Mutex<File>>);

impl MountList {
    /// Opens the list; on a system that has none, it stays empty.
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of mounts, before any wall is there")]
    pub(crate) fn open() -> Self {
        let list = if cfg!(target_os = "linux") { File::open("/proc/self/mountinfo").ok() } else { None };
        Self(list.map(Mutex::new))
    }

    /// Returns the list as it is now, in the form of `proc_pid_mountinfo(5)`; `None` if it cannot be had.
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        let mut file = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_end(&mut text).ok()?;
        Some(text)
    }
}

impl fmt::Debug for MountList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MountList").field(&self.0.is_some()).finish()
    }
}

/// Returns what tells this machine from others, as far as it says so: its name, and the number that systemd
/// gives it. `None` on a system of which that is not known, and where it has no name.
#[expect(clippy::disallowed_methods, reason = "what the machine calls itself, before any wall is there")]
pub(crate) fn machine() -> Option<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    if !cfg!(target_os = "linux") {
        return None;
    }
    let name = read("/proc/sys/kernel/hostname").filter(|name| !name.is_empty() && name != "localhost")?;
    Some((name, read("/etc/machine-id").unwrap_or_default()))
}
