//! Finds out why a text did not match, where that can be told for sure: undoing one known slip makes it
//! match.
//!
//! [`crate::normalized`] finds the place that was meant, [`crate::nearest`] text that is similar without such
//! a reason, and [`crate::matching`] text that has moved. A cause goes into an error; it never makes a match
//! succeed.

mod breaks;
mod elision;
mod ends;
mod escapes;
mod fold;
mod gutter;
mod kind;
mod repeats;
mod tell;
#[cfg(test)]
mod tests;
mod undo;

pub(crate) use breaks::{JoinStep, Joiner, Unbroken, is_sign_alone, joined};
pub(crate) use ends::{end, is_another_end, is_bare_fence};
pub(crate) use fold::{collapsed, is_telling, straight};
pub use kind::{Cause, Side};
pub(crate) use tell::without_slips;
pub use tell::{cause, cause_inside, cause_without_place};
pub(crate) use undo::readings;
