//! Encodes text, with proof: the bytes decode to exactly the same text, or encoding fails.
//!
//! `encoding_rs` by itself writes `&#233;` for characters that it cannot express, silently turns ¥ into a
//! backslash in `Shift_JIS`, and widens half-width katakana in ISO-2022-JP. So its output is decoded again
//! and compared.

use encoding_rs::EncoderResult;

use super::decode::{ESCAPE, Seam, Shift};
use super::error::Unencodable;
use super::kind::Encoding;
use super::stream::StreamDecoder;
use super::{latin1, wide};

impl Encoding {
    /// Encodes `text` to bytes that [`decode`](Self::decode) to it again, character for character. No byte
    /// order mark is added; in a stateful encoding the bytes begin and end in the ASCII state.
    ///
    /// The error names the first character that has no such bytes.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        match self {
            Self::Utf8 | Self::Utf16Le | Self::Utf16Be | Self::Utf32Le | Self::Utf32Be => {
                Ok(wide::encode(self.unit(), text))
            }
            Self::Latin1 => latin1::encode(text, 0xFF),
            Self::Ascii => latin1::encode(text, 0x7F),
            Self::Legacy(table) => legacy(table, text),
        }
    }

    /// Encodes `text` to take the place of the bytes between `before` and `after`, two places of one file
    /// that a [`Decoder`] has found.
    ///
    /// In a stateful encoding the bytes begin and end with the escape sequences that lead from the state at
    /// `before` to the state at `after`. In other encodings this is the same as [`encode`](Self::encode).
    /// Fails as `encode` does.
    ///
    /// [`Decoder`]: super::Decoder
    pub fn encode_between(self, text: &str, before: Seam, after: Seam) -> Result<Vec<u8>, Unencodable> {
        let whole = self.encode(text)?;
        if !self.is_stateful() {
            return Ok(whole);
        }
        // The WHATWG Encoding Standard makes two escape sequences without a character between them an error.
        // So a sequence is left out if it changes nothing, or if another sequence follows it at once.
        let ascii = Shift::Ascii.escape();
        let body = whole.strip_suffix(ascii).unwrap_or(&whole);
        let mut bytes = Vec::with_capacity(whole.len() + 2 * ascii.len());
        match body.first() {
            None => {}
            Some(&ESCAPE) => {
                bytes.extend_from_slice(body.strip_prefix(before.shift.escape()).unwrap_or(body));
            }
            Some(_) => {
                if before.shift != Shift::Ascii {
                    bytes.extend_from_slice(ascii);
                }
                bytes.extend_from_slice(body);
            }
        }
        let last_escape = memchr::memrchr(ESCAPE, &bytes).and_then(|at| bytes.get(at..)?.get(..ascii.len()));
        if last_escape.unwrap_or(before.shift.escape()) != after.shift.escape() {
            bytes.extend_from_slice(after.shift.escape());
        }
        Ok(bytes)
    }
}

fn legacy(table: &'static encoding_rs::Encoding, text: &str) -> Result<Vec<u8>, Unencodable> {
    let (mut bytes, inexpressible) = encode_prefix(table, text);
    let prefix = text.get(..inexpressible.unwrap_or(text.len())).unwrap_or(text);
    if inexpressible.is_some() {
        // Encodes once more without that character, for the closing escape sequence.
        (bytes, _) = encode_prefix(table, prefix);
    }
    let mut back = String::with_capacity(prefix.len());
    let decoded =
        StreamDecoder::new(Encoding::Legacy(table)).feed(&bytes, true, |piece| back.push_str(piece));
    let same = decoded.is_ok() && back == prefix;
    if same && inexpressible.is_none() {
        return Ok(bytes);
    }
    let index = prefix.chars().zip(back.chars()).take_while(|(asked, got)| asked == got).count();
    let character = text.chars().nth(index).unwrap_or(char::REPLACEMENT_CHARACTER);
    Err(Unencodable { character, index })
}

/// Encodes `text` up to the first character that the table does not have. Also returns the byte index of that
/// character; `None` if the table has them all.
fn encode_prefix(table: &'static encoding_rs::Encoding, text: &str) -> (Vec<u8>, Option<usize>) {
    // Room for any one character and the escape sequences around it, so that each round makes progress.
    const ROOM: usize = 64;
    let mut encoder = table.new_encoder();
    let mut bytes = Vec::with_capacity(text.len() + ROOM);
    let mut done = 0;
    loop {
        let rest = text.get(done..).unwrap_or_default();
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        done += read;
        match result {
            EncoderResult::InputEmpty => return (bytes, None),
            EncoderResult::OutputFull => bytes.reserve(ROOM),
            EncoderResult::Unmappable(_) => {
                // The encoder counts the character as read. The character that its result names may be a
                // substitute.
                let read = text.get(..done).unwrap_or(text);
                let start = read.char_indices().next_back().map_or(0, |(start, _)| start);
                return (bytes, Some(start));
            }
        }
    }
}
