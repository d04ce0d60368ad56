//! Which character encodings there are, and what follows from the encoding alone: its code unit, its byte order mark,
//! whether it has states.

/// A character encoding.
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
    /// ISO-8859-1 as the standard has it: every byte is the scalar of its own number.
    Latin1,
    /// US-ASCII; a byte from 0x80 on does not decode.
    Ascii,
    /// A table of the WHATWG Encoding Standard. Labels lead only to its legacy encodings, never to its UTF-8, UTF-16,
    /// replacement or x-user-defined.
    Legacy(&'static encoding_rs::Encoding),
}

/// What an encoding's text is made of: line ends and NUL are looked for in units, never across them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// One byte. Outside UTF-16 and UTF-32 no multi-byte sequence holds 0A or 0D.
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
    /// The code unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Utf16Le => Unit::Two { big_endian: false },
            Self::Utf16Be => Unit::Two { big_endian: true },
            Self::Utf32Le => Unit::Four { big_endian: false },
            Self::Utf32Be => Unit::Four { big_endian: true },
            Self::Utf8 | Self::Latin1 | Self::Ascii | Self::Legacy(_) => Unit::Byte,
        }
    }

    /// Whether it is a form of Unicode; a byte order mark in the file outranks such a label, and no other.
    #[must_use]
    pub fn is_unicode(self) -> bool {
        !self.bom().is_empty()
    }

    /// The byte order mark; empty where the encoding is not a form of Unicode.
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

    /// Whether what bytes mean depends on escape sequences before them (ISO-2022-JP).
    #[must_use]
    pub fn is_stateful(self) -> bool {
        self == Self::Legacy(encoding_rs::ISO_2022_JP)
    }

    /// How many bytes text of so many bytes of UTF-8 has at most.
    #[must_use]
    pub(crate) fn max_bytes(self, text: usize) -> usize {
        let each = match self {
            Self::Utf8 | Self::Latin1 | Self::Ascii => 1,
            // An escape sequence before each character, and one at the end.
            _ if self.is_stateful() || matches!(self.unit(), Unit::Four { .. }) => 4,
            // GB 18030 has four bytes for characters of two; in no table does a character have more for each of its own.
            _ => 2,
        };
        text.saturating_mul(each).saturating_add(4)
    }
}

/// The encoding that a byte order mark at the start of `head` names. `head` is the first four bytes of a file, or all
/// of a shorter one.
///
/// FF FE 00 00 is UTF-32, not UTF-16 that starts with U+0000.
#[must_use]
pub fn sniff_bom(head: &[u8]) -> Option<Encoding> {
    let known = [Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be];
    known.into_iter().find(|encoding| head.starts_with(encoding.bom()))
}
