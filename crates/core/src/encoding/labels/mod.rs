//! The names of encodings that clients can send: those of the WHATWG Encoding Standard and those of Python's
//! codecs, in any letter case, with or without punctuation.

mod label;
mod table;
#[cfg(test)]
mod tests;

pub use label::Label;
