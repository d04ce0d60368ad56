//! The reasons why `install` or `doctor` could not do what it was to do.

use std::io;

/// The reason why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The message says why.
    #[error("{0}")]
    Failed(String),
    /// Nothing can be added to a configuration but by hand.
    #[error("{why}")]
    ByHand {
        /// The reason for that.
        why: String,
        /// The lines that are to be added.
        added: String,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
