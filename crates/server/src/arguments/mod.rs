//! Checks a call's arguments completely and tolerantly.
//!
//! Complete: every problem of a call is collected in [`Notes`] and reported at once, each with the place
//! where it stands (`files[0].patches[2].ranges`), and a key that the tool does not read is refused by name.
//! Tolerant, where only one meaning is possible: an array, object, integer or boolean may come as the JSON
//! string that spells it, an integer as `5.0`, and null counts as absent; so does `""` for what is never
//! empty, since some clients must send every key. Text is never read as anything else.
//!
//! An argument is declared once, in `vocabulary`. The file of a tool under `tools` lists those that it takes,
//! as an [`Object`]. Whether a path, an encoding or a line exists is not decided here.

mod aliases;
mod fields;
mod notes;
pub(crate) mod vocabulary;

pub(crate) use self::aliases::nearest;
pub use self::fields::{Fields, each};
pub use self::notes::Notes;
pub(crate) use self::vocabulary::beginning;
pub use self::vocabulary::{Argument, Ends, Object, ValueKind};
