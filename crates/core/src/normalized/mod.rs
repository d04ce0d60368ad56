//! Finds the place that was meant by a text that stands nowhere, where that is certain: whole lines that are
//! the text once known slips are undone ([`NormalizedSearch::finish`] calls them *alike*), or a head and a
//! tail of it with other lines between (a *gap*).
//!
//! For errors, never for an edit. [`crate::cause`] names the slip, and [`crate::nearest`] finds what is only
//! similar.

mod joined;
mod search;
mod segments;

pub use search::{GappedMatch, NormalizedMatch, NormalizedMatches, NormalizedSearch};
