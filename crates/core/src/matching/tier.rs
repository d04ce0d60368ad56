//! The two tiers of a match, and the blanks that the second tier ignores.

/// The strictness of a match; the looser tier is the greater one.
///
/// The enum is exhaustive, since what an edit can match is a promise to clients: a third tier must not come
/// unnoticed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// The texts are equal character by character, where LF, CRLF and a classic Mac's CR count as equal.
    Exact,
    /// The texts are equal as for [`Tier::Exact`], except for spaces and tabs before line ends.
    TrailingWhitespace,
}

/// Returns a line without the spaces and tabs that end it, as [`Tier::TrailingWhitespace`] compares it.
pub(crate) fn trim_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}
