//! The journal of several machines, in a database: a row for each record. A record belongs to a database
//! session of its owner, which is a process. The session holds an advisory lock that no other session ever
//! takes: while the lock is held, the owner lives.
//!
//! Every statement about a record names its `claim`, a random number. A process that begins the record or
//! takes it over draws a new one. So after a takeover, statements of the former owner have no effect. If an
//! answer is lost, the owner first assigns the record to another session, and reads the record's state
//! through that session before it decides anything.

pub(crate) mod found;
pub(crate) mod link;
pub(crate) mod record;
#[cfg(test)]
mod tests;
