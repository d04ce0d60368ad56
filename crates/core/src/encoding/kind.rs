//! The character encodings, and their properties: code unit, byte order mark, and whether they have states.
//! Also the errors of decoding and encoding.
//!
//! ISO-8859-1 and US-ASCII are those of their own standards: a byte is the Unicode scalar with the same
//! number. In the WHATWG Encoding Standard both names mean windows-1252, so its tables are of no use here.

use std::borrow::Cow;

/// A character encoding. Its name is [`Encoding::name`]; [`Label::parse`](super::Label::parse) finds it by
/// any of its names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// UTF-8 (RFC 3629).
    Utf8,
    /// UTF-16, little-endian (RFC 2781).
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// UTF-32, little-endian (Unicode Standard, section 3.10).
    Utf32Le,
    /// UTF-32, big-endian.
    Utf32Be,
    /// ISO-8859-1 as in the standard: every byte is the character with the same number.
    Latin1,
    /// US-ASCII; a byte from 0x80 on does not decode.
    Ascii,
    /// A legacy encoding of the WHATWG Encoding Standard. No label selects the tables for UTF-8, UTF-16,
    /// replacement and x-user-defined, and this crate is not tested with them.
    Legacy(&'static encoding_rs::Encoding),
}

/// The code unit of an encoding. Text is a sequence of code units, and a line end or NUL is always whole
/// units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CodeUnit {
    /// One byte. Outside UTF-16 and UTF-32, no sequence of several bytes for a character has the bytes 0A or
    /// 0D.
    Byte,
    /// Two bytes.
    Two {
        /// Whether the high byte comes first.
        big_endian: bool,
    },
    /// Four bytes.
    Four {
        /// Whether the highest byte comes first.
        big_endian: bool,
    },
}

impl Encoding {
    /// Returns the code unit.
    #[must_use]
    pub fn unit(self) -> CodeUnit {
        match self {
            Self::Utf16Le => CodeUnit::Two { big_endian: false },
            Self::Utf16Be => CodeUnit::Two { big_endian: true },
            Self::Utf32Le => CodeUnit::Four { big_endian: false },
            Self::Utf32Be => CodeUnit::Four { big_endian: true },
            Self::Utf8 | Self::Latin1 | Self::Ascii | Self::Legacy(_) => CodeUnit::Byte,
        }
    }

    /// Tells whether the encoding is a form of Unicode. A byte order mark in a file takes precedence over a
    /// label of a Unicode encoding, but not over any other label.
    #[must_use]
    pub fn is_unicode(self) -> bool {
        !self.bom().is_empty()
    }

    /// Returns the byte order mark, two to four bytes; empty if the encoding is not a form of Unicode.
    #[must_use]
    pub fn bom(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
            Self::Utf32Le => b"\xFF\xFE\0\0",
            Self::Utf32Be => b"\0\0\xFE\xFF",
            Self::Latin1 | Self::Ascii | Self::Legacy(_) => b"",
        }
    }

    /// Tells whether the meaning of bytes depends on escape sequences before them: only in ISO-2022-JP.
    #[must_use]
    pub fn is_stateful(self) -> bool {
        self == Self::Legacy(encoding_rs::ISO_2022_JP)
    }

    /// Returns the maximum number of bytes in this encoding of a text that has `text` bytes in UTF-8.
    #[must_use]
    pub(crate) fn max_bytes(self, text: usize) -> usize {
        let each = match self {
            Self::Utf8 | Self::Latin1 | Self::Ascii => 1,
            // An escape sequence before each character, and one at the end.
            _ if self.is_stateful() || matches!(self.unit(), CodeUnit::Four { .. }) => 4,
            // GB 18030 has four bytes for characters of two bytes in UTF-8. No table has a higher ratio.
            _ => 2,
        };
        text.saturating_mul(each).saturating_add(4)
    }
}

/// Returns the encoding of the byte order mark at the start of `head`; `None` if there is none. `head` has
/// the first four bytes of a file or more, or all of a shorter file.
///
/// FF FE 00 00 is UTF-32, not UTF-16 that starts with U+0000.
#[must_use]
pub fn sniff_bom(head: &[u8]) -> Option<Encoding> {
    let known = [Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be];
    known.into_iter().find(|encoding| head.starts_with(encoding.bom()))
}

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
