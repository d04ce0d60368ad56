//! The reasons why `install` or `doctor` failed.

use std::io;

/// The reason why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The message says why.
    #[error("{0}")]
    Failed(String),
    /// A person has to change the configuration by hand.
    #[error("{why}")]
    ByHand {
        /// The reason for that.
        why: String,
        /// The lines that are to be added.
        added: String,
    },
    /// The configuration changed between the read and the write, each time that this was tried. The message
    /// says why it is not written.
    #[error("{0}")]
    Changed(String),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
