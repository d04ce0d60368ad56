//! Why `install` or `doctor` could not do what it was to do.

use std::io;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The message says why.
    #[error("{0}")]
    Failed(String),
    /// Nothing can be added to a configuration but by hand.
    #[error("{why}")]
    ByHand {
        /// Why that is so.
        why: String,
        /// What is to be added, in lines.
        added: String,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
