//! Finds the lines that a text was meant to be which is not in the file as it was sent. For errors, never for
//! an edit.
//!
//! The search is pure and bounded: it works on a [`LineWindow`] of the file around the named lines, held as
//! text. Undoing what models get wrong when they copy a text, as little of it as possible, makes a place
//! equal ([`normalize`]); else a head and a tail of the text are there, with lines between that it lacks;
//! else the most similar lines are measured ([`fuzzy`]).

mod find;
mod fuzzy;
mod grams;
mod hit;
mod normalize;
mod window;

pub(crate) use find::{find, places_of};
pub(crate) use hit::{Hit, Intended};
pub(crate) use normalize::{compact, is_wrapper, readings, tells_place};
pub(crate) use window::LineWindow;
