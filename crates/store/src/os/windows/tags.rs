//! Handles files whose stored bytes are not their content: they are deduplicated, or in a cloud. The stored
//! file has a tag, and a filter of the system recognises the tag and shows the real content to programs.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _};

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_OFFLINE, FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS, FILE_ATTRIBUTE_RECALL_ON_OPEN,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_ATTRIBUTE_TAG_INFO, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FileAttributeTagInfo, ReOpenFile,
};

use crate::os::windows::identity::{ask, key};

/// The bit that the tags of links and mount points have, which stand for another path
/// (`IsReparseTagNameSurrogate` of ntifs.h).
const NAME_SURROGATE: u32 = 0x2000_0000;

/// Returns a handle that reads the content that programs normally see. A handle that was opened with
/// `FILE_FLAG_OPEN_REPARSE_POINT`, in order not to follow links, bypasses the filter and reads the stored
/// bytes. For a deduplicated file, these are a stub, which a write would destroy. Such a file is opened again
/// with the filter: by its handle, since its path may belong to another file by now.
pub(crate) fn as_programs_see(file: File, write: bool) -> io::Result<File> {
    if is_tagged(&file) { opened_again(&file, write) } else { Ok(file) }
}

#[expect(unsafe_code, reason = "std does not tell the tag")]
fn is_tagged(file: &File) -> bool {
    // SAFETY: this class has this structure (winbase.h). A file system that does not know it has no tags.
    let told = unsafe { ask::<FILE_ATTRIBUTE_TAG_INFO>(file, FileAttributeTagInfo) };
    told.is_ok_and(|told| is_content(told.FileAttributes, told.ReparseTag))
}

/// Tells whether a file is a link or a mount point.
pub(super) fn is_link(attributes: u32, tag: u32) -> bool {
    attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag & NAME_SURROGATE != 0
}

/// Tells whether a file has a tag that concerns its content.
fn is_content(attributes: u32, tag: u32) -> bool {
    attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag & NAME_SURROGATE == 0
}

#[expect(unsafe_code, reason = "std opens files by their names only")]
fn opened_again(file: &File, write: bool) -> io::Result<File> {
    let access = if write { GENERIC_READ | GENERIC_WRITE } else { GENERIC_READ };
    let shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the handle is open as long as `file` is borrowed.
    let handle = unsafe { ReOpenFile(file.as_raw_handle(), access, shared, 0) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened, and only the returned value owns it.
    let opened = unsafe { File::from_raw_handle(handle) };
    // If the filter shows another file, the tag acts as a link.
    if key(&opened)? == key(file)? { Ok(opened) } else { Err(io::ErrorKind::StaleNetworkFileHandle.into()) }
}

/// Tells whether the content of a file with these attributes is elsewhere and would be fetched.
pub(super) fn is_elsewhere(attributes: u32) -> bool {
    let fetched =
        FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS | FILE_ATTRIBUTE_RECALL_ON_OPEN | FILE_ATTRIBUTE_OFFLINE;
    attributes & fetched != 0
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::os::windows::fs::OpenOptionsExt as _;

    use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

    use super::*;
    use crate::os;

    #[test]
    fn links_are_not_followed_and_content_is_read_through() {
        let tagged = FILE_ATTRIBUTE_REPARSE_POINT | 0x20;
        // The tags of symbolic links, mount points and links of WSL.
        for tag in [0xA000_000C, 0xA000_0003, 0xA000_001D] {
            assert!(!is_content(tagged, tag) && is_link(tagged, tag), "{tag:x}");
        }
        // The tags of deduplication, OneDrive, Windows' own compression and tiered storage.
        for tag in [0x8000_0013, 0x9000_001A, 0x9000_601A, 0x8000_0017, 0xC000_0004] {
            assert!(is_content(tagged, tag), "{tag:x}");
            // Without the attribute, the number is no tag.
            assert!(!is_content(0x20, tag));
        }
        for attributes in [0x0040_0000, 0x0004_0000, 0x1000, 0x0040_0020] {
            assert!(is_elsewhere(attributes), "{attributes:x}");
        }
        // These are "archive", and "pinned" and "unpinned", which say where the content is wanted, not where
        // it is.
        for attributes in [0x20, 0x0008_0000, 0x0010_0000] {
            assert!(!is_elsewhere(attributes), "{attributes:x}");
        }
    }

    #[test]
    fn the_same_file_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let open = |write| {
            let mut options = File::options();
            options.read(true).write(write).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
            options.open(&path).unwrap()
        };
        for write in [false, true] {
            let again = opened_again(&open(write), write).unwrap();
            assert_eq!(os::identity_of(&again).unwrap(), os::identity_of(&open(false)).unwrap());
            let mut read = [0; 7];
            assert_eq!(os::read_at(&again, &mut read, 0).unwrap(), 7);
            assert_eq!(&read, b"content");
            assert_eq!(os::write_all_at(&again, b"C", 0).is_ok(), write);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"Content");
    }
}
