//! Interprets values of macOS: error numbers, file flags, and the directories that the privacy settings
//! protect. The functions make no system calls, so they are tested on every system. The files `macos.rs` and
//! `macos_metadata.rs` make the system calls.

use std::path::{Component, Path};

use crate::os::inode_flags::{CHFLAGS, Guard};
use crate::os::privacy::Privacy;

const EPERM: i32 = 1;
const EDEADLK: i32 = 11;
const EINVAL: i32 = 22;
const ENOTTY: i32 = 25;
const ENOTSUP: i32 = 45;
const ENOSYS: i32 = 78;
const EOPNOTSUPP: i32 = 102;

/// Tells whether an error number says that the system, or a file system, lacks the operation. std maps only
/// `EOPNOTSUPP` to [`std::io::ErrorKind::Unsupported`], but SMB, exFAT and others also return `ENOTSUP`.
pub(super) fn is_unsupported(number: i32) -> bool {
    matches!(number, ENOTSUP | EOPNOTSUPP | ENOSYS)
}

/// Tells whether an error number says that the file system does not support `F_FULLFSYNC` or `F_BARRIERFSYNC`
/// (fcntl(2)). Any other number from these commands is an error of the disk.
pub(super) fn lacks_sync(number: i32) -> bool {
    is_unsupported(number) || matches!(number, EINVAL | ENOTTY)
}

/// Tells whether an error number says that the file is a placeholder whose content is in a cloud, and that
/// the system does not fetch content for this process (`IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES`,
/// `setiopolicy_np(3)`).
pub(super) fn is_not_downloaded(number: i32) -> bool {
    number == EDEADLK
}

/// Tells whether a file with these flags is a placeholder whose content is in a cloud: `SF_DATALESS`
/// (sys/stat.h). A read would wait for the content; without a network, it would wait forever.
pub(super) fn is_dataless(flags: u32) -> bool {
    flags & 0x4000_0000 != 0
}

/// Returns the error for a file whose content is in a cloud.
#[cfg(target_vendor = "apple")]
pub(super) fn not_downloaded() -> std::io::Error {
    std::io::Error::from_raw_os_error(EDEADLK)
}

/// Returns the privacy setting that denied access to a path; `number` is the error number. Returns `None` if
/// something else denied it, such as the mode or an access control list, which cause another error number.
pub(super) fn privacy_of(path: &Path, number: i32) -> Option<Privacy> {
    if number != EPERM {
        return None;
    }
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // The same files also have paths below the directory of their volume (firmlinks).
    let names = names.strip_prefix(&["system", "volumes", "data"]).unwrap_or(&names);
    let name = |at: usize| names.get(at).copied();
    match (name(0)?, name(2)) {
        ("volumes", _) if names.len() > 1 => Some(Privacy::Volume),
        ("users", Some("desktop")) => Some(Privacy::Desktop),
        ("users", Some("documents")) => Some(Privacy::Documents),
        ("users", Some("downloads")) => Some(Privacy::Downloads),
        ("users", Some("library")) => Some(Privacy::Library),
        _ => None,
    }
}

// sys/stat.h.
const USER_IMMUTABLE: u32 = 0x2;
const USER_APPEND: u32 = 0x4;
const SYSTEM_IMMUTABLE: u32 = 0x2_0000;
const SYSTEM_APPEND: u32 = 0x4_0000;

/// Returns the flag of chflags(1), among these flags, that forbids an edit of the file or, for a directory, a
/// change of the names in it; `None` if no flag does.
pub(super) fn guard_of(flags: u32) -> Option<Guard> {
    if flags & (USER_IMMUTABLE | SYSTEM_IMMUTABLE) != 0 {
        Some(Guard::Immutable)
    } else if flags & (USER_APPEND | SYSTEM_APPEND) != 0 {
        Some(Guard::AppendOnly)
    } else {
        None
    }
}

/// Returns the flags that a new file should get, which replaces a file with the flags `old`. `new` are the
/// flags that the new file has now.
pub(super) fn carried(old: u32, new: u32) -> u32 {
    let kept = CHFLAGS.iter().fold(0, |all, (flag, _)| all | flag);
    new & !kept | old & kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_DUMP: u32 = 0x1;
    const HIDDEN: u32 = 0x8000;

    #[test]
    fn both_numbers_say_that_something_is_lacking() {
        assert_eq!(
            [1, 5, 11, 22, 25, 45, 78, 102].map(is_unsupported),
            [false, false, false, false, false, true, true, true]
        );
        assert_eq!(
            [1, 5, 11, 22, 25, 45, 78, 102].map(lacks_sync),
            [false, false, false, true, true, true, true, true]
        );
        assert_eq!([1, 11, 35].map(is_not_downloaded), [false, true, false]);
        assert_eq!([0x4000_0000, 0x4000_8020, 0x8060].map(is_dataless), [true, true, false]);
    }

    #[test]
    fn privacy_is_known_by_path_and_number() {
        let of = |path: &str| privacy_of(Path::new(path), EPERM);
        assert_eq!(of("/Users/ada/Documents/app/a.rs"), Some(Privacy::Documents));
        assert_eq!(of("/Users/ada/Documents"), Some(Privacy::Documents));
        assert_eq!(of("/Users/ada/DESKTOP/a"), Some(Privacy::Desktop), "APFS ignores letter case");
        assert_eq!(of("/System/Volumes/Data/Users/ada/Downloads/a"), Some(Privacy::Downloads));
        assert_eq!(of("/Users/ada/Library/Mobile Documents/com~apple~CloudDocs/a"), Some(Privacy::Library));
        assert_eq!(of("/Volumes/Stick/a"), Some(Privacy::Volume));
        for other in [
            "/",
            "/Users/ada",
            "/Users/ada/app/Documents",
            "/Volumes",
            "/opt/Users/ada/Documents/a",
            "/usr/bin/a",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(privacy_of(Path::new("/Users/ada/Documents/a"), 13), None, "EACCES: a mode or a list");
    }

    #[test]
    fn flags_forbid_or_are_kept() {
        assert_eq!(guard_of(USER_IMMUTABLE | HIDDEN), Some(Guard::Immutable));
        assert_eq!(guard_of(SYSTEM_IMMUTABLE | USER_APPEND), Some(Guard::Immutable));
        assert_eq!([guard_of(USER_APPEND), guard_of(SYSTEM_APPEND)], [Some(Guard::AppendOnly); 2]);
        assert_eq!(guard_of(NO_DUMP | HIDDEN | 0x20 | 0x4000_0000), None);
        // UF_COMPRESSED and UF_TRACKED belong to the file system.
        assert_eq!(carried(HIDDEN | 0x20 | 0x40, NO_DUMP | 0x40), HIDDEN | 0x40);
        assert_eq!(carried(0, HIDDEN), 0);
    }
}
