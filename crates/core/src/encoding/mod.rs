//! Character encodings, which turn the bytes of a file into text, and new text into bytes.
//!
//! This module knows encodings by the names that clients send, and byte order marks. It decodes with
//! positions, encodes with proof, and guesses the encoding of bytes. The tables are from the WHATWG Encoding
//! Standard, by `encoding_rs`, except for ISO-8859-1 and ASCII, which mean windows-1252 in the standard, and
//! for UTF-32, which the standard does not have. Other modules decide what a line is, and what may be edited.
//! No character is ever substituted: bytes that do not decode, and text that cannot be encoded, are errors.

mod decode;
mod guess;
mod kind;
mod labels;
mod stream;
#[cfg(test)]
mod tests;
mod wide;

pub use decode::{Decoded, Decoder, Seam};
pub use guess::{Guesser, Strays};
pub use kind::{CodeUnit, Encoding, sniff_bom};
pub use kind::{Undecodable, Unencodable};
pub use labels::Label;
pub use stream::Validator;
pub use wide::looks_wide;
