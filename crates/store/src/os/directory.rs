//! A directory's handle, [`Dir`]: cap-std's; on Windows with other ways of doing what that does by a path.

#[cfg(not(windows))]
pub(crate) use cap_std::fs::{Dir, DirEntry};

#[cfg(windows)]
pub(crate) use crate::os::windows::dir::{Dir, DirEntry};
