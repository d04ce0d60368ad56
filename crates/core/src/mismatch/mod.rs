//! Finds the lines that a client probably meant, where the text that it sent is not in the file. The result
//! serves error messages only, never an edit.
//!
//! The search is pure and bounded: it works on a [`LineWindow`] of the file around the named lines, held as
//! text. First it undoes what models get wrong when they copy a text, as little of it as possible, until a
//! place is equal ([`normalize`]). Otherwise it looks for a head and a tail of the text, with lines between
//! them that the text lacks. Otherwise it measures which lines are the most similar ([`fuzzy`]).

mod find;
mod fuzzy;
mod normalize;
mod window;

pub(crate) use find::{find, places_of};
pub(crate) use normalize::{compact, is_wrapper, readings, tells_place};
pub(crate) use window::LineWindow;
pub(crate) use window::{Hit, Intended};
