//! A directory's handle, [`Dir`]: cap-std's, except on Windows, where a type of this crate replaces the
//! operations that cap-std does by a path.

#[cfg(not(windows))]
pub(crate) use cap_std::fs::Dir;

#[cfg(windows)]
pub(crate) use crate::os::windows::dir::Dir;
