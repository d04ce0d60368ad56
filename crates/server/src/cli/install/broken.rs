//! Why a configuration is left as it is, and places in one.

use serde_json::Value;

/// Why a text is left as it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Broken {
    /// It cannot be read.
    #[error("line {line}, column {column}: {why}")]
    Unreadable {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// In the words of the parser.
        why: String,
    },
    /// What should hold the entry is something else.
    #[error("`{0}` is there, and holds something else than it should")]
    OtherKind(String),
    /// The text with the change would not say what it should.
    #[error("this file is written in a way that cannot be changed safely")]
    NotSafe,
}

/// Returns what stands at a path.
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
