//! Implements the functions for a system that lacks an operation: they return `Unsupported` or `None`, or do
//! nothing. The files of the systems that have the operations document the functions.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::os::directory::Dir;
use crate::os::identity::Identity;
#[cfg(not(target_vendor = "apple"))]
use crate::os::inode_flags::Guard;
#[cfg(not(any(target_vendor = "apple", windows)))]
use crate::os::inode_flags::Lost;
#[cfg(not(any(target_vendor = "apple", windows)))]
use crate::os::seen::Attributes;

#[cfg(not(any(target_vendor = "apple", windows)))]
#[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
pub(crate) fn attributes_of(_: &File) -> io::Result<Attributes> {
    Ok(Attributes::new())
}

#[cfg(not(any(target_vendor = "apple", windows)))]
pub(crate) fn set_attribute(_: &File, _: &[u8], _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_vendor = "apple", windows)))]
pub(crate) fn remove_attribute(_: &File, _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn is_mount_point(_: &File) -> bool {
    false
}

#[cfg(not(windows))]
pub(crate) fn is_open_for_writing(_: &File) -> Option<bool> {
    None
}

pub(crate) fn ask_anew(_: &File) {}

pub(crate) fn memory_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn begin_sync(_: &File, _: u64, _: u64) {}

#[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn open_directory_beneath(_: &Dir, _: &Path) -> Option<Dir> {
    None
}

pub(crate) fn identity_at_once(_: &Dir, _: &Path) -> Option<Identity> {
    None
}

#[cfg(not(any(target_os = "linux", windows, target_vendor = "apple")))]
pub(crate) fn identity_lasts(_: &Dir) -> bool {
    true
}

pub(crate) fn is_local(_: &Dir) -> bool {
    false
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn guard_at(_: &Dir, _: &Path) -> Option<Guard> {
    None
}

pub(crate) fn lacks_key(_: &io::Error) -> bool {
    false
}

#[cfg(not(any(target_vendor = "apple", windows)))]
pub(crate) fn keep_flags(_: &File, _: &File) -> Lost {
    Lost::default()
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn exchange(_: &Dir, _: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_vendor = "apple", windows)))]
pub(crate) fn rename_new(_: &Dir, _: &Path, _: &Dir, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_vendor = "apple", windows)))]
#[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
pub(crate) fn network_file_system(_: &Dir) -> io::Result<Option<&'static str>> {
    Ok(None)
}

#[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
pub(crate) fn copy_in_kernel(_: &File, _: u64, _: &File, _: usize) -> io::Result<Option<usize>> {
    Ok(None)
}
