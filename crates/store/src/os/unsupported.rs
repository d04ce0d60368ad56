//! Errors that say that the system, or the file system, lacks an operation: [`is_unsupported`].

use std::io;

/// Whether `error` says that the system, or the file system, lacks the operation; not that it refuses it.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}
