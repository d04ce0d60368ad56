//! The reasons why an edit is not kept, or cannot be looked up: [`NotKept`].

/// The reason why an edit is not kept, or cannot be looked up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotKept {
    /// The history is switched off.
    #[error("the history is switched off")]
    Off,
    /// One of its files may hold a secret.
    #[error("no history is kept of such a file: it may hold a secret")]
    Secret,
    /// The bytes that it replaced are more than the history may grow to.
    #[error("what it replaced is larger than the history may grow")]
    TooLarge,
    /// The history cannot be written: it is read-only, broken, of a newer version, or the disk is full.
    #[error("the history is not available: {reason}")]
    Unavailable {
        /// The reason, in the words of the system or of the database.
        reason: String,
        /// The remedy that a person has.
        remedy: Remedy,
    },
}

/// The remedy where the history is not available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// To try again: another process held a lock, or the system failed for a moment.
    Retry,
    /// To [forget](crate::history::History::forget) it all, since it is damaged.
    Forget,
    /// To move its file away: it is not this program's, or another version of it needs it.
    MoveAway,
    /// To have a state directory.
    StateDirectory,
    /// To have a person look at the database that several machines share.
    Database,
    /// To give its directory a name that holds on all machines.
    RootName,
}
