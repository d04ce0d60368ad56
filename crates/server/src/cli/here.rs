//! Returns the directory in which the process was started, and makes typed paths absolute with it.

use std::path::PathBuf;

/// Returns the current directory.
pub fn current_dir() -> Result<PathBuf, String> {
    std_current_dir().map_err(|error| format!("the current directory cannot be read: {error}"))
}

/// Makes a path absolute. Its `.` and `..` stay.
pub(super) fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Ok(current_dir()?.join(path)) }
}

#[expect(clippy::disallowed_methods, reason = "this module makes paths absolute, once, for all others")]
pub(super) fn std_current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}
