//! Reads the list of the mounts that this process sees, as Linux gives it, and the machine's own name.
//!
//! Other modules interpret the list. On a system without such a list, it is empty.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The list of mounts, which is read again each time. It is opened only once, since Landlock would deny
/// opening it later.
pub(crate) struct MountList(Option<Mutex<File>>);

impl MountList {
    /// Opens the list. On a system without one, [`MountList::text`] returns `None`.
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of mounts, before any wall is there")]
    pub(crate) fn open() -> Self {
        let list = if cfg!(target_os = "linux") { File::open("/proc/self/mountinfo").ok() } else { None };
        Self(list.map(Mutex::new))
    }

    /// Returns the present list in the form of `proc_pid_mountinfo(5)`; `None` if it cannot be read.
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

/// Reads a file that contains one number; `None` if there is no such file.
#[expect(clippy::disallowed_methods, reason = "options of a mount, which need not lie in a root")]
pub(crate) fn read_number(path: &Path) -> io::Result<Option<f64>> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text?.trim().parse().map(Some).map_err(io::Error::other),
    }
}

/// Returns the names in a directory.
pub(crate) fn read_names(path: &Path) -> io::Result<Vec<OsString>> {
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Returns two facts that identify this machine: its name, and the id that systemd gives it, or an empty text
/// if there is none. Returns `None` on systems other than Linux, and if the machine has no name of its own.
#[expect(clippy::disallowed_methods, reason = "what the machine calls itself, before any wall is there")]
pub(crate) fn machine() -> Option<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    if !cfg!(target_os = "linux") {
        return None;
    }
    let name = read("/proc/sys/kernel/hostname").filter(|name| is_its_own(name))?;
    Some((name, read("/etc/machine-id").unwrap_or_default()))
}

/// Tells whether a machine's name is its own, and not empty or `localhost`.
fn is_its_own(name: &str) -> bool {
    !["", "localhost"].contains(&name)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_again_and_has_the_top_directory() {
        let list = MountList::open();
        for _ in 0..2 {
            let text = String::from_utf8_lossy(&list.text().unwrap()).into_owned();
            assert!(text.lines().any(|line| line.split(' ').nth(4) == Some("/")), "{text}");
        }
    }

    #[test]
    fn a_machine_has_the_name_that_the_system_tells() {
        let Ok(named) = std::process::Command::new("uname").arg("-n").output() else {
            return eprintln!("skipped: there is no uname(1)");
        };
        let name = String::from_utf8_lossy(&named.stdout).trim().to_owned();
        let told = machine().map(|(name, _)| name);
        assert_eq!(told, is_its_own(&name).then_some(name));
    }

    #[test]
    fn a_machine_without_a_name_or_with_that_of_every_machine_has_none_of_its_own() {
        assert!(!is_its_own("") && !is_its_own("localhost"));
        assert!(is_its_own("db-1") && is_its_own("localhost2"));
    }
}
