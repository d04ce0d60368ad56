//! ISO-8859-1 and US-ASCII as in their own standards: a byte is the Unicode scalar with the same number. In
//! the WHATWG Encoding Standard both names mean windows-1252, so its tables are of no use here.

use std::borrow::Cow;

use super::error::Unencodable;

/// Decodes `bytes`; every byte is a character.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    encoding_rs::mem::decode_latin1(bytes)
}

/// Decodes the ASCII bytes with which `bytes` start. If the text is as long as `bytes`, all of them are
/// ASCII.
pub(super) fn ascii_prefix(bytes: &[u8]) -> &str {
    let (ascii, _) =
        bytes.split_at_checked(encoding_rs::Encoding::ascii_valid_up_to(bytes)).unwrap_or((bytes, b""));
    std::str::from_utf8(ascii).unwrap_or_default()
}

/// Encodes `text`, one byte for each character. Fails if a character is above `highest`.
pub(super) fn encode(text: &str, highest: u8) -> Result<Vec<u8>, Unencodable> {
    let byte = |(index, character)| match u8::try_from(character) {
        Ok(byte) if byte <= highest => Ok(byte),
        _ => Err(Unencodable { character, index }),
    };
    text.chars().enumerate().map(byte).collect()
}
