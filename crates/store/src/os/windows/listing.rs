//! Opens and reads the directories and files of a walk through a directory tree. Everything is opened
//! relative to the handle of its directory. So other programs can rename and remove the directories
//! meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStringExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{OpenOptions, OpenOptionsExt as _};
use windows_sys::Win32::Foundation::{ERROR_FILE_NOT_FOUND, ERROR_NO_MORE_FILES};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FileIdBothDirectoryInfo, FileIdBothDirectoryRestartInfo,
    GetFileInformationByHandleEx,
};

use crate::os::seen::Listed;
use crate::os::windows::dir::Dir;
use crate::os::windows::names::open_directory;
use crate::os::windows::replace::{is_one_of, reopen};
use crate::os::windows::tags::{as_programs_see, is_elsewhere, is_link};

/// The length of the buffer for entries, in words of 8 bytes. The entry with the longest name fits.
const BUFFER_WORDS: usize = 1024;

pub(crate) fn open_to_list(parent: &Dir, name: &Path) -> io::Result<Dir> {
    if name == Path::new(".") {
        // A duplicate of the handle would share the position of the parent's listing.
        let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        return reopen(parent, FILE_GENERIC_READ, share).map(Dir::from_std_file);
    }
    let mut options = OpenOptions::new();
    // By default, these options share everything.
    options.read(true).follow(FollowSymlinks::No).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    match parent.open_with(name, &options) {
        Ok(opened) if opened.metadata()?.is_dir() => Ok(Dir::from_std_file(opened.into_std())),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        // The name may be a mount point, which `open_directory` resolves.
        Err(_) => open_directory(parent, name),
    }
}

#[expect(unsafe_code, reason = "std lists directories by their path only")]
pub(crate) fn for_each_name(
    directory: &Dir,
    mut each: impl FnMut(OsString, Listed) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0_u64; BUFFER_WORDS];
    let size = u32::try_from(size_of_val(buffer.as_slice())).unwrap_or(0);
    let mut class = FileIdBothDirectoryRestartInfo;
    loop {
        let start = buffer.as_mut_ptr().cast();
        // SAFETY: the handle is open as long as `directory` is borrowed, and the buffer has `size` bytes.
        let done = unsafe { GetFileInformationByHandleEx(directory.as_raw_handle(), class, start, size) };
        if done == 0 {
            let error = io::Error::last_os_error();
            // The root of an empty volume has no entries, not even `.`.
            let is_end = is_one_of(&error, &[ERROR_NO_MORE_FILES, ERROR_FILE_NOT_FOUND]);
            return if is_end { Ok(()) } else { Err(error) };
        }
        class = FileIdBothDirectoryInfo;
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_le_bytes()).collect();
        if !names_in(&bytes).all(|(name, kind)| each(name, kind)) {
            return Ok(());
        }
    }
}

/// Parses a buffer of `FILE_ID_BOTH_DIR_INFO` entries (winbase.h), without `.` and `..`.
fn names_in(bytes: &[u8]) -> impl Iterator<Item = (OsString, Listed)> {
    const ATTRIBUTES: usize = 56;
    const LENGTH: usize = 60;
    /// `EaSize`, which holds the reparse tag of a file that has one.
    const TAG: usize = 64;
    const NAME: usize = 104;
    let read_u32 = |at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
        u32::from_le_bytes(field.unwrap_or_default())
    };
    let read_usize = move |at: usize| usize::try_from(read_u32(at)).unwrap_or_default();
    let next = move |at: &usize| Some(at + read_usize(*at)).filter(|next| next != at);
    let entry = move |at: usize| {
        let name = bytes.get(at + NAME..at + NAME + read_usize(at + LENGTH)).unwrap_or_default();
        let units: Vec<u16> = name.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        let attributes = read_u32(at + ATTRIBUTES);
        let kind = match () {
            () if is_link(attributes, read_u32(at + TAG)) => Listed::Link,
            () if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 => Listed::Directory,
            () if is_elsewhere(attributes) => Listed::Elsewhere,
            () => Listed::File,
        };
        (OsString::from_wide(&units), kind)
    };
    let all = std::iter::successors(Some(0), next).map(entry);
    all.filter(|(name, _)| !name.is_empty() && name != "." && name != "..")
}

pub(crate) fn open_file_to_read(directory: &Dir, name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    as_programs_see(directory.open_with(name, &options)?.into_std(), false)
}
