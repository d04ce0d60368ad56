//! Defines [`Dir`], the handle of a directory. It is cap-std's type, except on Windows, where a type of this
//! crate replaces the operations for which cap-std uses a path.

#[cfg(not(windows))]
pub(crate) use cap_std::fs::Dir;

#[cfg(windows)]
pub(crate) use crate::os::windows::dir::Dir;
