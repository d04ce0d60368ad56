//! The names by which clients call encodings: those of the WHATWG standard and those of Python's codecs, in any case and
//! with or without punctuation.

mod label;
mod table;
#[cfg(test)]
mod tests;

pub use label::Label;
