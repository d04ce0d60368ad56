//! The errors of decoding and encoding.

/// Bytes do not decode: they are not text in the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the bytes from offset {offset} on do not decode")]
#[non_exhaustive]
pub struct Undecodable {
    /// The offset, in bytes from 0, at which the first sequence starts that does not decode.
    pub offset: usize,
}

/// Text cannot be encoded: the encoding lacks a character, or its bytes would decode to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{character:?}, the character at index {index}, cannot be encoded")]
#[non_exhaustive]
pub struct Unencodable {
    /// The first such character.
    pub character: char,
    /// Its index in the text, in characters from 0.
    pub index: usize,
}
