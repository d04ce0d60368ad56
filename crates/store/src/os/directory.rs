//! A directory's handle, [`Dir`]. It is that of cap-std; on Windows, it replaces the operations that cap-std
//! does by a path.

#[cfg(not(windows))]
pub(crate) use cap_std::fs::Dir;

#[cfg(windows)]
pub(crate) use crate::os::windows::dir::Dir;
