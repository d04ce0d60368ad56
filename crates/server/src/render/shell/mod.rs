//! Shows past edits to a person at a shell: in colours, within the width of the terminal, and without control
//! characters from foreign text.
//!
//! The text contains the colours; the caller that writes the text removes them where they are not wanted.

mod diff;
pub(crate) mod edits;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod roots;
mod screen;
pub(crate) mod stat;
mod style;
pub(crate) mod undo;
pub(crate) mod whole;
mod width;

pub use self::screen::Screen;
