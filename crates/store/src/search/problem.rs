//! The reasons why a search or a listing is refused: [`SearchProblem`].

use crate::edit::Reason;
use crate::search::globs::BadGlobs;

/// The reasons why a search or a listing is refused, or was stopped.
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
    /// The globs are invalid, or too many or too large.
    #[error(transparent)]
    Globs(BadGlobs),
    /// The named path cannot be searched or listed, no encoding has that label, or the call was cancelled.
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
    /// It has too many bytes.
    #[error("the pattern has {bytes} bytes, and may have {most}")]
    TooLong {
        /// The number of bytes of the pattern.
        bytes: usize,
        /// The maximum number of bytes.
        most: usize,
    },
    /// It takes too much memory when compiled, for example by its repetitions or groups.
    #[error("the pattern takes too much memory once it is compiled")]
    TooLarge,
    /// It is no regular expression. The text is the message of the crate `regex`, in one or several lines.
    #[error("{0}")]
    Regex(String),
    /// It matches the empty text, so that there is nothing to replace.
    #[error("the pattern matches the empty text")]
    Empty,
    /// The new text names a group that the pattern does not have.
    #[error("the pattern has no group {0}")]
    Group(String),
    /// It can match only across a line end.
    #[error("the pattern holds a line end, and a match is within one line")]
    LineEnd,
}
