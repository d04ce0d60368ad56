//! The reasons why a search or a listing is refused: [`SearchProblem`].

use mcp_text_editor_core::path_rules::BadGlobs;

use crate::edit::Reason;

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
    /// The globs cannot be taken.
    #[error(transparent)]
    Globs(BadGlobs),
    /// The named path cannot be searched or listed, no encoding has that label, or the call was cancelled.
    #[error("{reason}")]
    Refused {
        /// The index of the path in the request; 0 where it is no path's.
        entry: usize,
        /// The reason.
        reason: Reason,
    },
}

/// The reason why nothing can be searched for by a pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSearchPattern {
    /// It has too many bytes.
    #[error("the pattern has {bytes} bytes, and may have {most}")]
    TooLong {
        /// The number of bytes that it has.
        bytes: usize,
        /// The most that it may have.
        most: usize,
    },
    /// It takes too much once it is compiled: what it counts, or its groups.
    #[error("the pattern takes too much memory once it is compiled")]
    TooLarge,
    /// It is no regular expression: the message of the crate `regex`, of one or several lines.
    #[error("{0}")]
    Regex(String),
    /// It can match only over a line's end.
    #[error("the pattern holds a line end, and a match is within one line")]
    LineEnd,
}
