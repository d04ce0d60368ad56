//! Defines the errors of a pattern of paths: [`BadNamePattern`].

/// The fault of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadNamePattern {
    /// A `[` has no `]`.
    #[error("unclosed character class; missing ']'")]
    OpenClass,
    /// In a class a range ends before it begins.
    #[error("invalid range; '{0}' > '{1}'")]
    Range(char, char),
    /// A `{` has no `}`.
    #[error("unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)")]
    OpenGroup,
    /// A `}` has no `{`.
    #[error("unopened alternate group; missing '{{' (maybe escape '}}' with '[}}]'?)")]
    NoGroup,
    /// Braces are nested more than 32 deep.
    #[error("alternate groups are nested too deeply")]
    TooDeep,
    /// Nothing follows the last `\`.
    #[error("dangling '\\'")]
    Dangling,
}
