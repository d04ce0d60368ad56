//! The journal of several machines, in a database: a row for each record. A record belongs to the session of
//! its owner, which has an advisory lock that nobody else ever gets: while that is held the owner lives.
//!
//! Every statement about a record names its `claim`, which is drawn anew by whoever begins the record or
//! takes it over: so of an owner who comes back and one who took over, one wins. Where an answer is lost, the
//! owner asks again with another session, and so makes the record belong to that, before it decides anything.

mod found;
mod link;
mod naming;
mod record;
mod shared;
mod statements;
#[cfg(test)]
mod tests;

pub(crate) use shared::SharedJournal;
