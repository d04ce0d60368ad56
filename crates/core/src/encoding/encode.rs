//! Encoding text, with proof: what is written decodes to the very text that was asked for, or nothing is written.
//!
//! `encoding_rs` by itself writes `&#233;` for what it cannot express, turns ¥ into a backslash in `Shift_JIS` without a
//! word, and widens half-width katakana in ISO-2022-JP; so what it encodes is decoded again and compared.

use encoding_rs::EncoderResult;

use super::decode::{ESCAPE, Seam, Shift};
use super::error::Unencodable;
use super::kind::Encoding;
use super::stream::Stream;
use super::{latin1, wide};

impl Encoding {
    /// The bytes of `text`, which [`decode`](Self::decode) to it again. No byte order mark is added; in a stateful
    /// encoding they start from, and end in, ASCII.
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

    /// The bytes that put `text` between `before` and `after`, two places of one file of which [`Decoder`] says where
    /// they are: what stands between their offsets is to be replaced by them.
    ///
    /// In a stateful encoding they begin and end with the escape sequences that this takes; otherwise this is
    /// [`encode`](Self::encode).
    ///
    /// [`Decoder`]: super::Decoder
    pub fn encode_between(self, text: &str, before: Seam, after: Seam) -> Result<Vec<u8>, Unencodable> {
        let whole = self.encode(text)?;
        if !self.is_stateful() || (before.shift, after.shift) == (Shift::Ascii, Shift::Ascii) {
            return Ok(whole);
        }
        // Two escape sequences without a character between them are an error, by the WHATWG standard: so one that
        // changes nothing is left out, and one that another follows at once.
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
        // Once more without it, for the closing escape sequence.
        (bytes, _) = encode_prefix(table, prefix);
    }
    let mut back = String::with_capacity(prefix.len());
    let decoded = Stream::new(Encoding::Legacy(table)).feed(&bytes, true, |piece| back.push_str(piece));
    let same = decoded.is_ok() && back == prefix;
    if same && inexpressible.is_none() {
        return Ok(bytes);
    }
    let index = prefix.chars().zip(back.chars()).take_while(|(asked, got)| asked == got).count();
    let character = text.chars().nth(index).unwrap_or(char::REPLACEMENT_CHARACTER);
    Err(Unencodable { character, index })
}

/// The bytes of `text` up to the first character that the table does not have, and the byte index of that one.
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
            EncoderResult::OutputFull => bytes.reserve(ROOM + text.len() - done),
            EncoderResult::Unmappable(_) => {
                // The encoder counts the character as read; which one it names may be a stand-in.
                let read = text.get(..done).unwrap_or(text);
                let start = read.char_indices().next_back().map_or(0, |(start, _)| start);
                return (bytes, Some(start));
            }
        }
    }
}
