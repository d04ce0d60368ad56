//! What differs between platforms, and nothing else. Each function has one meaning everywhere; a platform that lacks the operation
//! returns [`std::io::ErrorKind::Unsupported`] or `None`, and the caller has another way.
//!
//! Each platform has a file; all of its functions are called as `os::function`, and documented in the file of Linux or of
//! Unix. Linux is what is tested.

pub(crate) mod clock;
pub(crate) mod fd_limit;
pub(crate) mod identity;
pub(crate) mod inode_flags;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod network;
pub(crate) mod patience;
pub(crate) mod real_path;
pub(crate) mod seen;
pub(crate) mod signals;
mod unsupported;
pub(crate) mod vanishing;

#[cfg(not(target_os = "linux"))]
mod fallback;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod linux_flags;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux_kernel;
#[cfg(target_vendor = "apple")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(not(target_os = "linux"))]
pub(crate) use fallback::*;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(target_os = "linux")]
pub(crate) use linux_flags::*;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux_kernel::*;
#[cfg(target_vendor = "apple")]
pub(crate) use macos::*;
#[cfg(unix)]
pub(crate) use unix::*;
pub(crate) use unsupported::is_unsupported;
#[cfg(windows)]
pub(crate) use windows::*;
