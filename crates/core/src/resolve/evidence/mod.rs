//! Collects the evidence about matches that failed. It may read the file again for that, since edits that
//! succeed do not pay for it; how much it reads is bounded.

mod applied;
mod dependency;
mod explain;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
mod view;

pub(super) use explain::{Failed, explain, line_of, may_have_moved};
