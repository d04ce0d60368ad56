//! Opens and reads the directories and files of a walk. All of it goes by handles, so that other programs may
//! rename and remove the directories meanwhile.

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

/// The room for names, in words of 8 bytes: more than the longest name takes.
const ROOM: usize = 1024;

pub(crate) fn open_to_list(parent: &Dir, name: &Path) -> io::Result<Dir> {
    if name == Path::new(".") {
        // A copy of the handle would share the place at which its listing stands.
        let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        return reopen(parent, FILE_GENERIC_READ, share).map(Dir::from_std_file);
    }
    let mut options = OpenOptions::new();
    // The share mode of these options is to share everything.
    options.read(true).follow(FollowSymlinks::No).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    match parent.open_with(name, &options) {
        Ok(opened) if opened.metadata()?.is_dir() => Ok(Dir::from_std_file(opened.into_std())),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        // A volume may be mounted there.
        Err(_) => open_directory(parent, name),
    }
}

#[expect(unsafe_code, reason = "std lists directories by their path only")]
pub(crate) fn for_each_name(
    directory: &Dir,
    mut each: impl FnMut(OsString, Listed) -> bool,
) -> io::Result<()> {
    let mut room = vec![0_u64; ROOM];
    let size = u32::try_from(size_of_val(room.as_slice())).unwrap_or(0);
    let mut class = FileIdBothDirectoryRestartInfo;
    loop {
        let start = room.as_mut_ptr().cast();
        // SAFETY: the handle is open as long as `directory` is borrowed, and the room has `size` bytes.
        let done = unsafe { GetFileInformationByHandleEx(directory.as_raw_handle(), class, start, size) };
        if done == 0 {
            let error = io::Error::last_os_error();
            // An empty directory has not even `.` at the top of a volume.
            let is_end = is_one_of(&error, &[ERROR_NO_MORE_FILES, ERROR_FILE_NOT_FOUND]);
            return if is_end { Ok(()) } else { Err(error) };
        }
        class = FileIdBothDirectoryInfo;
        let bytes: Vec<u8> = room.iter().flat_map(|word| word.to_le_bytes()).collect();
        if !names_in(&bytes).all(|(name, kind)| each(name, kind)) {
            return Ok(());
        }
    }
}

/// Reads the names from entries in the system's form (`FILE_ID_BOTH_DIR_INFO` of winbase.h), without `.` and
/// `..`.
fn names_in(bytes: &[u8]) -> impl Iterator<Item = (OsString, Listed)> {
    const ATTRIBUTES: usize = 56;
    const LENGTH: usize = 60;
    /// The tag, if the file has one.
    const TAG: usize = 64;
    const NAME: usize = 104;
    let number = |at: usize| {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        u32::from_le_bytes(four.unwrap_or_default())
    };
    let wide = |number: u32| usize::try_from(number).unwrap_or_default();
    let next = move |at: &usize| Some(at + wide(number(*at))).filter(|next| next != at);
    let entry = move |at: usize| {
        let name = bytes.get(at + NAME..at + NAME + wide(number(at + LENGTH))).unwrap_or_default();
        let units: Vec<u16> = name.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect();
        let attributes = number(at + ATTRIBUTES);
        let kind = match () {
            () if is_link(attributes, number(at + TAG)) => Listed::Link,
            () if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 => Listed::Directory,
            () if is_elsewhere(attributes) => Listed::Elsewhere,
            () => Listed::File,
        };
        (OsString::from_wide(&units), kind)
    };
    let all = std::iter::successors(Some(0), next).map(entry);
    all.filter(|(name, _)| !name.is_empty() && name != "." && name != "..")
}

pub(crate) fn open_to_read_file(directory: &Dir, name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    as_programs_see(directory.open_with(name, &options)?.into_std(), false)
}
