//! The two tiers of a match, and what the second one leaves out.

/// How well a text matched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// Character by character, line ends aside.
    Exact,
    /// Alike but for spaces and tabs at line ends.
    TrailingWhitespace,
}

/// A line without the spaces and tabs that end it: what [`Tier::TrailingWhitespace`] compares.
pub(crate) fn trim_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}
