//! Where a text stands in a file: the two tiers of the contract, streamed, in memory that does not grow with the file.
//!
//! Text is compared as text: bytes are decoded, every line end counts as `\n`. The second tier also ignores spaces and
//! tabs before line ends. Nothing else is ever ignored; similarity belongs to [`crate::nearest`], for errors.
//!
//! First all places are found in the text, for which no more of it need be held than the longest needle and a quarter. Then
//! those that are wanted are looked up in the file, which is read once more unless its text is compared as it stands there:
//! to have with each character where it stands would take many times the memory of the needle.

mod needle;
mod search;
mod text;
mod tier;

pub use needle::{CLOSEST, Found, Keep, Needle, Occurrence};
pub(crate) use search::lines_of;
pub use search::search;
pub use tier::Tier;
pub(crate) use tier::trim_blanks;
