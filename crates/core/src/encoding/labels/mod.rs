//! The names by which clients call encodings: the names in the WHATWG Encoding Standard and the names of
//! Python's codecs, in any letter case and with or without punctuation.

mod label;
mod table;
#[cfg(test)]
mod tests;

pub use label::Label;
