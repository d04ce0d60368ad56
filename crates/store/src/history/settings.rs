//! Defines the settings of the history: [`Settings`].
//!
//! Defines the reasons why an edit is not kept, or cannot be looked up: [`NotKept`].

use crate::access::patterns::{BadPattern, Patterns};

/// The bounds of the history, and the files that it excludes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Patterns of excluded files, whose edits are not kept. [`Settings::excluding`] creates the patterns.
    pub excluded: Patterns,
    /// The number of days for which edits are kept.
    pub days: u32,
    /// The maximum size of the history in bytes; the oldest edits are deleted first.
    pub bytes: u64,
}

impl Settings {
    /// Files that are always excluded, because they hold secrets.
    pub const SECRETS: [&str; 3] = [".env*", "*.pem", "*.key"];

    /// The default number of days for which edits are kept.
    pub const DEFAULT_DAYS: u32 = 30;

    /// The default maximum size of the history in bytes.
    pub const DEFAULT_BYTES: u64 = 256 << 20;

    /// Returns these patterns together with [`Settings::SECRETS`]. Fails at the first invalid pattern.
    pub fn excluding(patterns: &[String]) -> Result<Patterns, BadPattern> {
        let secrets = Self::SECRETS.map(str::to_owned);
        Patterns::new(&[&secrets, patterns].concat())
    }
}

impl Default for Settings {
    /// Returns settings that keep edits of all files except [`Settings::SECRETS`], for
    /// [`Settings::DEFAULT_DAYS`] and within [`Settings::DEFAULT_BYTES`].
    fn default() -> Self {
        // The only patterns are `SECRETS`, and a test shows that each is valid.
        let excluded = Self::excluding(&[]).unwrap_or_default();
        Self { excluded, days: Self::DEFAULT_DAYS, bytes: Self::DEFAULT_BYTES }
    }
}

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn edits_are_kept_for_thirty_days_in_256_mib() {
        let Settings { days, bytes, .. } = Settings::default();
        assert_eq!((days, bytes), (30, 268_435_456));
    }

    #[test]
    fn secrets_are_excluded_whatever_else_is() {
        let others = Settings::excluding(&["*.toml".to_owned()]).unwrap();
        assert!(others.matches(Path::new("/root/a.toml"), Path::new("a.toml")));
        for excluded in [Settings::default().excluded, others] {
            for secret in [".env", ".env.local", "tls/server.pem", "keys/id.key"] {
                assert!(excluded.matches(&Path::new("/root").join(secret), Path::new(secret)), "{secret}");
            }
            assert!(!excluded.matches(Path::new("/root/key.rs"), Path::new("key.rs")));
        }
    }
}
