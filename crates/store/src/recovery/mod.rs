//! Recovers a transaction whose process died: it is taken back or, if it was committed, completed. Before
//! every step the table looks whose each name is, by identity. So repeating a step changes nothing, and
//! nothing that another program has written since is overwritten.
//!
//! A process that gets the lock of a record knows that the owner is dead, and is the only one to recover it.
//! The files are locked, too. Records are looked for at start and, with the files locked, before each edit.
//! So no edit starts from a file that is halfway between two states.

pub(crate) mod background;
mod gate;
mod recover;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;

pub(crate) use gate::{is_settled, lock_settled, settle, tidy};
pub(crate) use recover::recover;
