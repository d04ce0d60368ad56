//! Defines the settings of the history: [`Settings`].

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
