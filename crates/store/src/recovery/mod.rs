//! What is done about a transaction whose process died in the middle: taken back or, once it was committed, ended. All of it
//! goes by digests, so that doing it twice changes nothing, and nothing that another program wrote since is written over.
//!
//! Whoever holds the lock of a record knows that its owner is dead, and is the only one to recover it. The files are locked,
//! too. Records are looked for at start and, with its files locked, before each edit: so nobody builds on a file that is
//! half way between two states.

mod gate;
mod recover;
mod site;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;

pub(crate) use gate::{lock_settled, settle};
pub(crate) use recover::recover;
