//! Checks a call's arguments completely and tolerantly.
//!
//! Completely: all problems of a call are collected in [`Notes`] and reported together, each with its place
//! (`files[0].patches[2].ranges`). A key that the tool does not read is refused by name. Tolerantly, where
//! only one meaning is possible: an array, object, integer or boolean is also accepted as the JSON string
//! that spells it, and an integer as `5.0`. Null counts as absent; so does `""` for an argument that is never
//! empty, since some clients must send every key. A text argument is never read as anything else.
//!
//! Each argument is declared once, in `vocabulary`. The file of a tool under `tools` lists the arguments that
//! the tool takes, as an [`Object`]. This module does not check whether a path, an encoding or a line exists.

mod aliases;
mod fields;
mod notes;
pub(crate) mod vocabulary;

pub(crate) use self::aliases::nearest;
pub use self::fields::{Fields, each};
pub use self::notes::Notes;
pub(crate) use self::vocabulary::beginning;
pub use self::vocabulary::{Argument, Ends, Object, ValueKind};
