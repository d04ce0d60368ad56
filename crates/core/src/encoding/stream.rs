//! Decodes a stream, or only checks whether it decodes: takes bytes in chunks of any size, returns text in
//! pieces, and finds the first bytes that do not decode. `decode.rs` finds the place of each character.

use encoding_rs::DecoderResult;

use super::kind::Encoding;

// With AVX2, simdutf8 0.1.5 offsets a pointer out of its slice to prefetch there. That reads nothing, but
// Miri rejects it. It is fixed upstream, but not yet released (github.com/rusticstuff/simdutf8/pull/120).
#[cfg(not(miri))]
use simdutf8::compat as validation;
#[cfg(miri)]
use std::str as validation;

use super::kind;
use super::wide::Wide;

/// A decoder for any encoding. Its results do not depend on how the bytes are cut into chunks.
#[derive(Debug)]
pub(super) struct StreamDecoder {
    kind: Kind,
    /// The offset of the first byte that is not part of the text so far; for legacy encodings, of the first
    /// byte that was not fed yet.
    at: u64,
    failed: Option<u64>,
    ended: bool,
}

#[derive(Debug)]
enum Kind {
    /// Holds the beginning of a character whose rest is in the next chunk: less than four bytes.
    Utf8(Vec<u8>),
    Wide(Wide),
    Latin1,
    Ascii,
    /// Holds a buffer of [`PIECE`] bytes, which is reused.
    Legacy(Box<encoding_rs::Decoder>, String),
}

/// The number of bytes of text that a legacy decoder returns at a time. Any size above a few bytes works;
/// this size stays in the CPU cache.
const PIECE: usize = 16 * 1024;

impl StreamDecoder {
    pub(super) fn new(encoding: Encoding) -> Self {
        let kind = match encoding {
            Encoding::Utf8 => Kind::Utf8(Vec::new()),
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be => {
                Kind::Wide(Wide::new(encoding.unit()))
            }
            Encoding::Latin1 => Kind::Latin1,
            Encoding::Ascii => Kind::Ascii,
            Encoding::Legacy(table) => {
                Kind::Legacy(Box::new(table.new_decoder_without_bom_handling()), String::with_capacity(PIECE))
            }
        };
        Self { kind, at: 0, failed: None, ended: false }
    }

    /// Passes the text of the characters that `chunk` completes to `sink`, in order. `last` says that no
    /// chunk follows.
    ///
    /// The error is the offset, from the first byte ever fed, of the first sequence that does not decode.
    /// Later calls return it again. `sink` may have received a part of the text that precedes that offset.
    /// Chunks after `last` are ignored.
    pub(super) fn feed(&mut self, chunk: &[u8], last: bool, sink: impl FnMut(&str)) -> Result<(), u64> {
        if let Some(offset) = self.failed {
            return Err(offset);
        }
        if self.ended {
            return Ok(());
        }
        self.ended = last;
        let outcome = self.advance(chunk, last, sink);
        self.failed = outcome.err();
        outcome
    }

    fn advance(&mut self, chunk: &[u8], last: bool, mut sink: impl FnMut(&str)) -> Result<(), u64> {
        let at = &mut self.at;
        match &mut self.kind {
            Kind::Utf8(carry) => utf8(carry, chunk, last, at, sink),
            Kind::Wide(wide) => wide.feed(chunk, last, at, sink),
            Kind::Latin1 => {
                sink(&kind::decode(chunk));
                Ok(())
            }
            Kind::Ascii => {
                let text = kind::ascii_prefix(chunk);
                sink(text);
                *at += text.len() as u64;
                if text.len() < chunk.len() { Err(*at) } else { Ok(()) }
            }
            Kind::Legacy(decoder, piece) => {
                let mut rest = chunk;
                loop {
                    piece.clear();
                    let (result, read) = decoder.decode_to_string_without_replacement(rest, piece, last);
                    *at += read as u64;
                    rest = rest.get(read..).unwrap_or_default();
                    sink(piece);
                    match result {
                        DecoderResult::InputEmpty => return Ok(()),
                        DecoderResult::OutputFull => {}
                        DecoderResult::Malformed(length, after) => {
                            return Err(at.saturating_sub(u64::from(length) + u64::from(after)));
                        }
                    }
                }
            }
        }
    }
}

fn utf8(
    carry: &mut Vec<u8>,
    chunk: &[u8],
    last: bool,
    at: &mut u64,
    mut sink: impl FnMut(&str),
) -> Result<(), u64> {
    let mut rest = chunk;
    while !carry.is_empty() {
        let Some((&byte, after)) = rest.split_first() else { break };
        carry.push(byte);
        rest = after;
        match std::str::from_utf8(carry) {
            Ok(text) => {
                sink(text);
                *at += text.len() as u64;
                carry.clear();
            }
            Err(error) if error.error_len().is_none() => {}
            Err(_) => return Err(*at),
        }
    }
    // The incomplete tail is split off first, so that no byte is validated twice.
    let whole = rest.len() - incomplete_suffix(rest);
    let (body, tail) = rest.split_at_checked(whole).unwrap_or((rest, b""));
    match validation::from_utf8(body) {
        Ok(text) => sink(text),
        Err(error) => return Err(*at + error.valid_up_to() as u64),
    }
    *at += body.len() as u64;
    carry.extend_from_slice(tail);
    let hopeless = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_some());
    if hopeless || (last && !carry.is_empty()) { Err(*at) } else { Ok(()) }
}

/// Returns the number of bytes at the end, 0 to 3, that are the beginning of a longer UTF-8 sequence, as its
/// first byte tells.
fn incomplete_suffix(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        return if length > back + 1 { back + 1 } else { 0 };
    }
    0
}

/// Checks that bytes decode, without keeping them.
///
/// The result is the same as that of [`Encoding::decode`], however the bytes are cut into chunks.
#[derive(Debug)]
pub struct Validator {
    /// `None` for an encoding in which every byte decodes.
    stream: Option<StreamDecoder>,
}

impl Validator {
    /// Returns a validator to which no bytes have been fed yet.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self { stream: (encoding != Encoding::Latin1).then(|| StreamDecoder::new(encoding)) }
    }

    /// Takes the next bytes. Costs nothing after the first bytes that do not decode.
    pub fn feed(&mut self, chunk: &[u8]) {
        if let Some(stream) = &mut self.stream {
            // The stream remembers its failure, and returns it again in `finish`.
            let _ = stream.feed(chunk, false, |_| ());
        }
    }

    /// Returns the offset, in bytes from the first one fed, of the first sequence that does not decode;
    /// `None` if all do. An incomplete character at the end does not decode.
    #[must_use]
    pub fn finish(self) -> Option<u64> {
        self.stream?.feed(b"", true, |_| ()).err()
    }
}
