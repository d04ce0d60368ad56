//! Defines the reasons why a configuration is left unchanged, and helpers for places in a configuration.

use serde_json::Value;

/// The reason why a text is left unchanged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The text cannot be parsed.
    #[error("line {line}, column {column}: {why}")]
    Unreadable {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1, in characters.
        column: usize,
        /// The reason, in the words of the parser.
        why: String,
    },
    /// The text is too large to be parsed.
    #[error("it is no configuration of a person: more than {0}")]
    TooMuch(&'static str),
    /// The value that should hold the entry is of another kind.
    #[error("`{0}` is there, and holds something else than it should")]
    OtherKind(String),
    /// The changed text would not hold the value that was to be set.
    #[error("this file is written in a way that cannot be changed safely")]
    NotSafe,
}

/// The maximum length of a configuration that is read, in bytes. Some clients store their history in it.
pub(super) const LONGEST: usize = 16 << 20;

/// The maximum number of values in a configuration.
const MOST_VALUES: usize = 250_000;

/// Refuses a text that is too large, before it is parsed: a parser needs a hundred times as many bytes of
/// memory. Each value has at least one of the characters `marks`. Marks in strings and comments also count,
/// so strings and comments need not be recognised.
pub(super) fn bound(text: &str, marks: &[u8]) -> Result<(), ConfigError> {
    if text.len() > LONGEST {
        return Err(ConfigError::TooMuch("16 MiB"));
    }
    let values = text.bytes().filter(|byte| marks.contains(byte)).count();
    if values > MOST_VALUES { Err(ConfigError::TooMuch("250 000 values")) } else { Ok(()) }
}

/// Returns the value at a path.
#[must_use]
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Returns the line and the column of an offset, both from 1.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
