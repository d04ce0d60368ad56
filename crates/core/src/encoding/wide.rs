//! UTF-16 and UTF-32, by hand: `encoding_rs` has no UTF-32, and does not encode UTF-16. A lone surrogate, a
//! number above U+10FFFF and half a unit at the end do not decode (Unicode Standard, section 3.9).

use super::kind::{CodeUnit, Encoding};

/// A decoder of UTF-16 or UTF-32 that takes bytes in chunks.
#[derive(Debug)]
pub(super) struct Wide {
    unit: CodeUnit,
    /// The beginning of a character whose rest is in the next chunk: less than four bytes.
    carry: Vec<u8>,
    text: String,
}

/// The character with which some bytes start.
enum First {
    Scalar(char, usize),
    Incomplete,
    Invalid,
}

impl Wide {
    pub(super) fn new(unit: CodeUnit) -> Self {
        Self { unit, carry: Vec::new(), text: String::new() }
    }

    /// Passes the text of all characters that `chunk` completes to `sink`. `at` is the offset at which the
    /// first of them starts, and is moved to the end of the last. The error is the offset of the first bytes
    /// that do not decode.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        last: bool,
        at: &mut u64,
        mut sink: impl FnMut(&str),
    ) -> Result<(), u64> {
        self.text.clear();
        let mut rest = chunk;
        while !self.carry.is_empty() {
            let Some((&byte, after)) = rest.split_first() else { break };
            self.carry.push(byte);
            rest = after;
            match first(self.unit, &self.carry) {
                First::Incomplete => {}
                First::Invalid => return Err(*at),
                First::Scalar(character, length) => {
                    self.text.push(character);
                    *at += length as u64;
                    self.carry.clear();
                }
            }
        }
        if self.carry.is_empty() {
            loop {
                match first(self.unit, rest) {
                    First::Incomplete => break,
                    First::Invalid => return Err(*at),
                    First::Scalar(character, length) => {
                        self.text.push(character);
                        *at += length as u64;
                        rest = rest.get(length..).unwrap_or_default();
                    }
                }
            }
            self.carry.extend_from_slice(rest);
        }
        sink(&self.text);
        if last && !self.carry.is_empty() { Err(*at) } else { Ok(()) }
    }
}

fn first(unit: CodeUnit, bytes: &[u8]) -> First {
    let (scalar, length) = match unit {
        CodeUnit::Four { big_endian } => {
            let Some(&four) = bytes.first_chunk() else { return First::Incomplete };
            (if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }, 4)
        }
        CodeUnit::Two { big_endian } => {
            let unit = |two: &[u8; 2]| {
                u32::from(if big_endian { u16::from_be_bytes(*two) } else { u16::from_le_bytes(*two) })
            };
            let Some((two, rest)) = bytes.split_first_chunk() else { return First::Incomplete };
            let high = unit(two);
            if (0xD800..0xDC00).contains(&high) {
                let Some(two) = rest.first_chunk() else { return First::Incomplete };
                let low = unit(two);
                if !(0xDC00..0xE000).contains(&low) {
                    return First::Invalid;
                }
                (0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), 4)
            } else {
                (high, 2)
            }
        }
        CodeUnit::Byte => (bytes.first().map_or(0, |&byte| u32::from(byte)), 1),
    };
    char::from_u32(scalar).map_or(First::Invalid, |character| First::Scalar(character, length))
}

/// Returns how many bytes a character takes.
pub(super) fn width(unit: CodeUnit, character: char) -> u8 {
    match unit {
        CodeUnit::Byte => 1,
        CodeUnit::Two { .. } if character <= '\u{FFFF}' => 2,
        CodeUnit::Two { .. } | CodeUnit::Four { .. } => 4,
    }
}

/// Encodes `text`, which cannot fail.
pub(super) fn encode(unit: CodeUnit, text: &str) -> Vec<u8> {
    match unit {
        CodeUnit::Byte => text.as_bytes().to_vec(),
        CodeUnit::Two { big_endian: true } => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        CodeUnit::Two { big_endian: false } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        CodeUnit::Four { big_endian: true } => {
            text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect()
        }
        CodeUnit::Four { big_endian: false } => {
            text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
        }
    }
}

/// Guesses whether `head`, the start of a file without a byte order mark, is UTF-16 or UTF-32, and in which
/// byte order. The guess is for the error about a file with NUL bytes; no file is decoded with it.
///
/// Some hundreds of bytes are enough. A character that is cut at their end does not matter. `None` unless all
/// bytes decode, have no control characters except white space, and have at least two ASCII characters, and
/// four times as many as in the other byte order.
#[must_use]
pub fn looks_wide(head: &[u8]) -> Option<Encoding> {
    let evidence = |encoding: Encoding| ascii_evidence(encoding.unit(), head).unwrap_or(0);
    let between = |little: Encoding, big: Encoding| {
        let (l, b) = (evidence(little), evidence(big));
        let (winner, most, least) = if l >= b { (little, l, b) } else { (big, b, l) };
        (most >= 2 && most >= 4 * least).then_some(winner)
    };
    between(Encoding::Utf32Le, Encoding::Utf32Be).or_else(|| between(Encoding::Utf16Le, Encoding::Utf16Be))
}

/// Counts the ASCII characters in `bytes`; `None` if the bytes are not text.
fn ascii_evidence(unit: CodeUnit, mut bytes: &[u8]) -> Option<usize> {
    let mut found = 0;
    loop {
        match first(unit, bytes) {
            First::Incomplete => return Some(found),
            First::Invalid => return None,
            First::Scalar(character, length) => {
                let blank = matches!(character, '\t' | '\n' | '\x0C' | '\r');
                let nothing = matches!(u32::from(character) & 0xFFFF, 0xFFFE | 0xFFFF);
                if nothing || (character.is_control() && !blank) {
                    return None;
                }
                found += usize::from(character.is_ascii());
                bytes = bytes.get(length..).unwrap_or_default();
            }
        }
    }
}
