//! Recovers a transaction (the file changes of one call) whose process died: completes the transaction if it
//! was committed, otherwise rolls it back. The journal has a record of each transaction. Before every step,
//! `commit/table.rs` looks up by identity which file each name has. So a repeated step changes nothing, and
//! recovery does not overwrite bytes that another program has written since.
//!
//! A process that gets the lock of a record knows that the record's owner is dead, and is the only process
//! that recovers the record. The files are locked, too. A process looks for records at its start and, with
//! the files locked, before each edit. So no edit starts from a file that an interrupted transaction has
//! changed only partly.

pub(crate) mod gate;
mod recover;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;

pub(crate) use gate::{is_settled, lock_settled, settle, tidy};
pub(crate) use recover::recover;
