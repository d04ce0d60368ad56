//! Finds where a text stands in a file, in two tiers, while the file streams by and in memory that does not
//! grow with it.
//!
//! Text is compared as text: bytes are decoded, every line end counts as `\n`. The second tier also ignores
//! spaces and tabs before line ends. Nothing else is ever ignored; similarity is the business of errors.
//!
//! The first pass finds all places in the text, and holds no more of it than the longest needle and a
//! quarter. Then the wanted places are looked up in the file, which is read once more for that, unless its
//! text is compared as it stands. To note the place of each character in the first pass would take many times
//! the memory of the needle.

mod needle;
mod prefilter;
mod search;
mod text;
mod tier;

pub use needle::{CLOSEST, Keep, Needle, NeedleMatches, Occurrence};
pub(crate) use search::{lines_of, places_of};
pub use search::{search, whole_text};
pub use tier::Tier;
pub(crate) use tier::trim_blanks;
