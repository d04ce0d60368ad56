//! Character encodings: how the bytes of a file are text, and how new text becomes bytes.
//!
//! Owns the names by which clients call encodings, byte order marks, decoding with positions, encoding with
//! proof, and the guess at the encoding of bytes. The tables are those of the WHATWG Encoding Standard, by
//! `encoding_rs`, save ISO-8859-1 and ASCII, which there mean windows-1252, and UTF-32, which it does not
//! know. What a line is, and what may be edited, is decided elsewhere. Nothing here ever substitutes a
//! character: what does not decode or encode is an error.

mod decode;
mod encode;
mod error;
mod guess;
mod kind;
mod labels;
mod latin1;
mod stream;
#[cfg(test)]
mod tests;
mod validate;
mod wide;

pub use decode::{Decoded, Decoder, Seam};
pub use error::{Undecodable, Unencodable};
pub use guess::{Guesser, Strays};
pub use kind::{CodeUnit, Encoding, sniff_bom};
pub use labels::Label;
pub use validate::Validator;
pub use wide::looks_wide;
