//! Collects the evidence about matches that failed. It may read the file again for that, since edits that
//! succeed do not pay for it; how much it reads is bounded.

mod dependency;
mod explain;
mod extent;
#[cfg(test)]
mod laws;
mod made;
mod mismatch;
#[cfg(test)]
mod tests;
mod view;

pub(super) use explain::{Failed, explain, line_of, may_have_moved};
