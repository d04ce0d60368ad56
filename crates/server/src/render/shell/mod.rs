//! Past edits as a person sees them at a shell: in colours, within the width of the terminal, and with
//! nothing in them that gives it orders.
//!
//! The colours are in the text; whoever writes it takes them out where they are not wanted.

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
