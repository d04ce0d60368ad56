//! Finds where a text stands in a file, at one of two levels of strictness (tiers). The file is streamed, and
//! the memory use does not grow with it.
//!
//! Text is compared as text: bytes are decoded, and every line end counts as `\n`. The second tier also
//! ignores spaces and tabs before line ends. Nothing else is ever ignored; only error messages look for
//! similar text.
//!
//! The first pass finds all places in the text, and holds about 1¼ times the longest needle's length of it. A
//! second pass then looks up the byte offsets of the wanted places; it is not needed if the file's bytes are
//! compared without conversion. To note the offset of each character in the first pass would take many times
//! the memory of the needle.

mod needle;
mod search;
mod text;

pub use needle::Tier;
pub(crate) use needle::trim_blanks;
pub use needle::{CLOSEST, Keep, Needle, NeedleMatches, Occurrence};
pub(crate) use search::{lines_of, places_of};
pub use search::{search, whole_text};
