//! Looks up names and paths: the file at a path, the spelling of its name in its directory, and the notation
//! of a path that Windows uses unchanged (`\\?\…`).

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::Arc;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_GENERIC_READ, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FindClose, FindFirstFileW, WIN32_FIND_DATAW,
};

use crate::os::seen::Looked;
use crate::os::windows::dir::Dir;
use crate::os::windows::identity::{key_of_directory, opened_path};
use crate::os::windows::replace::reopen;

pub(crate) fn look_along(path: &Path) -> Option<Looked> {
    let path = verbatim(path);
    let name = listed_name(&path);
    let opened = open_for_attributes(&path, FILE_FLAG_OPEN_REPARSE_POINT);
    let metadata = opened.as_ref().ok().and_then(|file| file.metadata().ok());
    // If the file cannot be opened, its directory's listing still has its metadata.
    let metadata: Metadata = metadata.or_else(|| std::fs::symlink_metadata(&path).ok())?;
    if metadata.is_symlink() && mounted_volume(&path).is_some() {
        let key = open_for_attributes(&path, 0).ok().and_then(key_of_opened);
        return Some(Looked { is_directory: true, is_link: false, key, name });
    }
    Some(Looked {
        is_directory: metadata.is_dir(),
        is_link: metadata.is_symlink(),
        key: opened.ok().and_then(key_of_opened),
        name,
    })
}

pub(crate) fn key_of_path(path: &Path) -> Option<(u64, u64)> {
    open_for_attributes(&verbatim(path), 0).ok().and_then(key_of_opened)
}

pub(crate) fn open_directory(parent: &Dir, name: &Path) -> io::Result<Dir> {
    let opened = parent.open_dir_nofollow(name).map(Dir::from);
    if opened.is_err()
        && let Ok(parent) = final_path(parent)
        && let Some(volume) = mounted_volume(&parent.join(name))
    {
        return Dir::open_ambient_dir(volume, ambient_authority());
    }
    opened
}

// std shares the handle with all programs, so they can rename and remove a root while the server uses it.
pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
    let directory = File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?;
    let is_directory = directory.metadata()?.is_dir();
    if is_directory { Ok(Dir::from_std_file(directory)) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

pub(crate) fn hold(directory: &Arc<Dir>) -> io::Result<Arc<Dir>> {
    let held = reopen(&**directory, FILE_GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE)?;
    Ok(Arc::new(Dir::from_std_file(held)))
}

/// Opens the file at a path, only to query its attributes. No share mode of other handles prevents this.
fn open_for_attributes(path: &Path, flags: u32) -> io::Result<File> {
    File::options()
        .access_mode(FILE_READ_ATTRIBUTES)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | flags)
        .open(path)
}

/// Returns the key of an open file or directory, by the function that returns the keys of roots, too.
fn key_of_opened(file: File) -> Option<(u64, u64)> {
    key_of_directory(&Dir::from_std_file(file)).ok()
}

/// Returns the root of the volume that is mounted at a directory; `None` for any other directory and for a
/// link.
fn mounted_volume(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok()?;
    is_volume(&target).then_some(target)
}

/// Tells whether a path is the root of a volume, in the form that mount points use: `\\?\Volume{…}\`.
fn is_volume(path: &Path) -> bool {
    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return false };
    let Prefix::Verbatim(name) = prefix.kind() else { return false };
    let name = name.to_string_lossy();
    name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("volume{"))
        && components.all(|component| component == Component::RootDir)
}

/// Returns the present path of an open directory, with the prefix `\\?\`.
pub(crate) fn final_path(directory: &Dir) -> io::Result<PathBuf> {
    opened_path(directory)
}

pub(crate) fn network_file_system(directory: &Dir) -> io::Result<Option<&'static str>> {
    let path = final_path(directory)?;
    let is_share = match path.components().next() {
        Some(Component::Prefix(prefix)) => matches!(prefix.kind(), Prefix::VerbatimUNC(..) | Prefix::UNC(..)),
        _ => false,
    };
    Ok(is_share.then_some("a share"))
}

/// Returns a path with the prefix `\\?\`. Windows uses such a path unchanged: it can have any length, and all
/// dots and spaces stay.
pub(crate) fn verbatim(path: &Path) -> PathBuf {
    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return path.to_owned() };
    let mut verbatim = OsString::from(r"\\?\");
    match prefix.kind() {
        Prefix::Disk(_) => verbatim.push(prefix.as_os_str()),
        Prefix::UNC(server, share) => {
            for part in ["UNC\\".as_ref(), server, "\\".as_ref(), share] {
                verbatim.push(part);
            }
        }
        _ => return path.to_owned(),
    }
    verbatim.push("\\");
    let mut verbatim = PathBuf::from(verbatim);
    verbatim.extend(components.filter(|component| *component != Component::RootDir));
    verbatim
}

/// Returns the last name of a path as its directory lists it: in the letter case in which it is stored, and
/// never as a short name. Returns `None` if the name cannot be looked up.
#[expect(unsafe_code, reason = "std lists whole directories only")]
fn listed_name(path: &Path) -> Option<OsString> {
    let name = path.file_name()?;
    // The system would interpret names with these characters as patterns.
    if name.encode_wide().any(|unit| [b'*', b'?', b'<', b'>', b'"'].map(u16::from).contains(&unit)) {
        return None;
    }
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut found = WIN32_FIND_DATAW::default();
    // SAFETY: `wide` ends in a zero, and both buffers outlive the call.
    let handle = unsafe { FindFirstFileW(wide.as_ptr(), &raw mut found) };
    if handle == INVALID_HANDLE_VALUE {
        return None;
    }
    // SAFETY: the handle was just opened by FindFirstFileW, and is used nowhere else.
    unsafe { FindClose(handle) };
    let length = found.cFileName.iter().position(|unit| *unit == 0)?;
    Some(OsString::from_wide(found.cFileName.get(..length)?)).filter(|name| !name.is_empty())
}
