//! Defines the reasons why an edit is not kept, or cannot be looked up: [`NotKept`].

/// The reason why an edit is not kept, or cannot be looked up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotKept {
    /// The history is switched off.
    #[error("the history is switched off")]
    Off,
    /// A file of the edit may hold a secret.
    #[error("no history is kept of such a file: it may hold a secret")]
    Secret,
    /// The replaced bytes alone exceed the maximum size of the history.
    #[error("what it replaced is larger than the history may grow")]
    TooLarge,
    /// The history cannot be used. For example, its file is read-only, damaged, or of a newer version, or the
    /// disk is full.
    #[error("the history is not available: {reason}")]
    Unavailable {
        /// The reason, in the words of the operating system or of the database.
        reason: String,
        /// The action that may make the history available.
        remedy: Remedy,
    },
}

/// The action that may make the history available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Try again: another process held a lock, or the system failed temporarily.
    Retry,
    /// [Forget](crate::history::History::forget) the whole history, since it is damaged.
    Forget,
    /// Move the history's file away, since it belongs to another program, or to a newer version of this
    /// program.
    MoveAway,
    /// Configure a state directory.
    StateDirectory,
    /// Have a person examine the database that several machines share.
    Database,
    /// Configure a name for the file's root (the served directory that contains the file) that is the same on
    /// all machines.
    RootName,
}
