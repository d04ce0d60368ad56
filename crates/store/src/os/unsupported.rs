//! Recognises errors that say that the system, or the file system, lacks an operation: [`is_unsupported`].

use std::io;

/// Tells whether `error` says that the system, or the file system, lacks the operation. An error because of
/// permissions does not count.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    #[cfg(target_vendor = "apple")]
    if error.raw_os_error().is_some_and(crate::os::apple::is_unsupported) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}
