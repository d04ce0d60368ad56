//! Bytes that are no text, and text that has no bytes.

/// Bytes that are no text in the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the bytes from offset {offset} on do not decode")]
pub struct Undecodable {
    /// Where the first sequence that does not decode starts.
    pub offset: usize,
}

/// Text that an encoding cannot express, or not so that it comes back the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{character:?}, the character at index {index}, cannot be encoded")]
pub struct Unencodable {
    /// The first such character.
    pub character: char,
    /// How many characters stand before it in the text.
    pub index: usize,
}
