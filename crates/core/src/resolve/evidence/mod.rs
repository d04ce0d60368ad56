//! Collects evidence about failed matches, to help the client to correct its request. It can read the file
//! again, since edits that succeed do not pay for it; how much it reads is bounded.

mod explain;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
mod view;

pub(super) use explain::{Failed, explain, line_of, may_have_moved};
