//! The two tiers of a match, and the blanks that the second one ignores.

/// The strictness of a match; the looser tier is the greater one.
///
/// Exhaustive: what an edit may match is a promise to clients, so that there will be no third tier unnoticed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// Alike character by character, where LF, CRLF and a classic Mac's CR are one.
    Exact,
    /// Alike but for spaces and tabs before line ends, too.
    TrailingWhitespace,
}

/// Returns a line without the spaces and tabs that end it, as [`Tier::TrailingWhitespace`] compares it.
pub(crate) fn trim_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}
