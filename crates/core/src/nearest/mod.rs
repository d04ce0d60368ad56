//! Finds places that are similar to a text that was not found. For errors, never for an edit.
//!
//! [`crate::cause`] finds out why a place differs; [`crate::matching`] finds the very text.
//!
//! There are two stages. The lines stream by once, and a window as long as the wanted text counts how many of
//! the wanted text's trigrams it holds: that costs a few nanoseconds a byte, whatever the wanted text is. A
//! handful of windows is kept, the best that do not overlap; only these are then aligned line by line and
//! measured.

mod align;
mod candidate;
mod fold;
mod grams;
mod near;
mod search;

pub use near::SimilarPlace;
pub use search::{MAX_PLACES, Nearest};
