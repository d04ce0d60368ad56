//! Hides the differences between platforms, and does nothing else. Each function has the same meaning on all
//! platforms. On a platform that lacks the operation, the function returns
//! [`std::io::ErrorKind::Unsupported`] or `None`, and the caller uses another method.
//!
//! Each platform has its own files. Callers write `os::function`. A function that several platforms implement
//! is documented in the file of Linux or of Unix. CI runs the tests on Linux, macOS and Windows.

#[cfg(any(target_vendor = "apple", test))]
mod apple;
mod away;
pub(crate) mod clock;
pub(crate) mod directory;
pub(crate) mod fd_limit;
pub(crate) mod identity;
pub(crate) mod inode_flags;
pub(crate) mod names;
mod names_once;
#[cfg(unix)]
mod network;
pub(crate) mod package;
pub(crate) mod parent;
pub(crate) mod patience;
pub(crate) mod privacy;
pub(crate) mod real_path;
pub(crate) mod seen;
pub(crate) mod signals;
pub(crate) mod stored;
pub(crate) mod stored_names;
mod sync;
pub(crate) mod vanishing;

#[cfg(any(not(target_os = "linux"), feature = "simulation"))]
mod fallback;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod linux_flags;
#[cfg(target_os = "linux")]
mod linux_kernel;
#[cfg(target_vendor = "apple")]
mod macos;
#[cfg(target_vendor = "apple")]
mod macos_metadata;
#[cfg(feature = "simulation")]
mod simulation;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unix_listing;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod xattr;

pub(crate) use away::is_away;
#[cfg(not(target_os = "linux"))]
pub(crate) use fallback::*;
#[cfg(feature = "simulation")]
pub(crate) use linux::ACCESS_LIST;
#[cfg(all(target_os = "linux", not(feature = "simulation")))]
pub(crate) use linux::*;
#[cfg(all(target_os = "linux", not(feature = "simulation")))]
pub(crate) use linux_flags::*;
#[cfg(all(target_os = "linux", not(feature = "simulation")))]
pub(crate) use linux_kernel::*;
#[cfg(target_vendor = "apple")]
pub use macos::fetch_nothing;
#[cfg(target_vendor = "apple")]
pub(crate) use macos::*;
#[cfg(target_vendor = "apple")]
pub(crate) use macos_metadata::*;
#[cfg(not(target_vendor = "apple"))]
pub use privacy::fetch_nothing;
#[cfg(not(target_vendor = "apple"))]
pub(crate) use privacy::{is_not_downloaded, privacy_of};
#[cfg(not(feature = "simulation"))]
pub(crate) use sync::is_unsupported;
#[cfg(not(feature = "simulation"))]
pub(crate) use sync::{sync_all, sync_before, sync_data};
#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(unix)]
pub(crate) use unix_listing::*;
#[cfg(windows)]
pub(crate) use windows::*;
// The functions of `simulation` replace all functions that only Linux has, and some that every Unix has. A
// name that is imported explicitly takes precedence over the same name from a glob import.
#[cfg(feature = "simulation")]
pub(crate) use simulation::{
    ask_anew, attributes_of, begin_sync, copy_in_kernel, exchange, guard_at, has_containment, has_no_locks,
    identity_at_once, identity_lasts, is_held_open, is_local, is_mount_point, is_open_for_writing,
    is_unsupported, keep_flags, lacks_key, memory_file, network_file_system, open_directory_beneath,
    open_to_read, read_at, remove_attribute, rename_new, reserve, set_attribute, sync_all, sync_before,
    sync_data, sync_directory, sync_moved, try_lock, write_all_at,
};
