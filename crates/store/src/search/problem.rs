//! Defines the reasons why a search or a listing is refused: [`SearchProblem`].

use crate::edit::Reason;
use crate::search::globs::BadGlobs;

/// The error of a search or a listing that was refused or cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SearchError {
    /// Every reason, at least one.
    pub problems: Vec<SearchProblem>,
}

impl From<SearchProblem> for SearchError {
    fn from(problem: SearchProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// One reason why a search or a listing is refused.
#[derive(Debug, thiserror::Error)]
pub enum SearchProblem {
    /// The pattern cannot be searched for.
    #[error(transparent)]
    Pattern(BadSearchPattern),
    /// The globs are invalid, too many, too long or too large.
    #[error(transparent)]
    Globs(BadGlobs),
    /// A path of the request cannot be searched or listed, no encoding has the request's label, or the call
    /// was cancelled.
    #[error("{reason}")]
    Refused {
        /// The index of the path in the request; 0 if the reason concerns no path.
        entry: usize,
        /// The reason.
        reason: Reason,
    },
}

/// The reason why a pattern cannot be searched for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSearchPattern {
    /// The pattern has too many bytes.
    #[error("the pattern has {bytes} bytes, and may have {most}")]
    TooLong {
        /// The number of bytes of the pattern.
        bytes: usize,
        /// The maximum number of bytes.
        most: usize,
    },
    /// The compiled pattern takes too much memory, for example because of its repetitions or groups.
    #[error("the pattern takes too much memory once it is compiled")]
    TooLarge,
    /// The pattern is not a valid regular expression. The field is the message of the crate `regex`, which
    /// has one or several lines.
    #[error("{0}")]
    Regex(String),
    /// The pattern matches the empty text, which cannot be replaced.
    #[error("the pattern matches the empty text")]
    Empty,
    /// The replacement text names a group that the pattern does not have; the field is the group.
    #[error("the pattern has no group {0}")]
    Group(String),
    /// The pattern contains a line end, so it could match only across lines, which the request does not
    /// allow.
    #[error("the pattern holds a line end, and a match is within one line")]
    LineEnd,
}
