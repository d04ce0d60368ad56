//! A `PostgreSQL` database that several machines share: how it is named ([`StateUrl`]), and a session that is
//! kept open ([`Database`]). What is kept in it is the journal's and the history's, but for the list of their
//! tables (`migrations`). What is wrong with it is looked at by `examine`, for a person who sets it up.
//!
//! The client runs on a thread of its own; whoever asks waits for it, never longer than [`database::BOUND`].
//! No password is in an error, a log or a `Debug`.

mod address;
pub(crate) mod database;
pub(crate) mod error;
mod examine;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test starts a server, and looks at files, without the store"
)]
pub(crate) mod fixture;
mod migrations;
pub(crate) mod owner;
mod password;
mod pool;
pub(crate) mod report;
pub(crate) mod session;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;
mod tls;
pub(crate) mod url;
