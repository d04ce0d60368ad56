//! The journal of several machines, in a database: a row for each record. A record belongs to a session of
//! its owner. The session has an advisory lock that nobody else ever takes: while the lock is held, the owner
//! lives.
//!
//! Every statement about a record names its `claim`, a random number that is drawn anew by whoever begins the
//! record or takes it over. So if an owner comes back after another process took over, only one of them wins.
//! If an answer is lost, the owner first makes the record belong to another session, and asks again there
//! before it decides anything.

pub(crate) mod found;
pub(crate) mod link;
pub(crate) mod naming;
pub(crate) mod record;
pub(crate) mod statements;
#[cfg(test)]
mod tests;
