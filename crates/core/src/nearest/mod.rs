//! Where something stands that is similar to a text that was not found. Feeds errors, never an edit.
//!
//! Why it differs is told by [`crate::cause`]; where the very text stands is found by the matcher.
//!
//! Two stages. The lines stream by once, and a window as long as the wanted text counts how many of the wanted text's
//! trigrams it holds: a few nanoseconds a byte, whatever the wanted text is. The best windows that do not overlap
//! are kept, a handful; only they are then aligned line by line and measured.

mod align;
mod candidate;
mod fold;
mod grams;
mod near;
mod search;

pub use near::Near;
pub use search::{MAX_PLACES, Nearest};
