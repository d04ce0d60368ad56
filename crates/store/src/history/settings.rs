//! What the history is to keep: [`Settings`].

use crate::access::patterns::Patterns;

/// How much is kept, and of which files nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Files of which nothing is kept.
    pub excluded: Patterns,
    /// For how many days.
    pub days: u32,
    /// In how many bytes; the oldest edits go first.
    pub bytes: u64,
}

impl Settings {
    /// For how many days edits are kept unless told otherwise.
    pub const DEFAULT_DAYS: u32 = 30;

    /// In how many bytes edits are kept unless told otherwise.
    pub const DEFAULT_BYTES: u64 = 256 << 20;
}

impl Default for Settings {
    /// Keeps edits of all files, for [`Settings::DEFAULT_DAYS`] in [`Settings::DEFAULT_BYTES`].
    fn default() -> Self {
        Self { excluded: Patterns::default(), days: Self::DEFAULT_DAYS, bytes: Self::DEFAULT_BYTES }
    }
}
