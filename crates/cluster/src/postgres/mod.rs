//! A `PostgreSQL` database that several machines share: its URL ([`StateUrl`]), and a session that is kept
//! open ([`Database`]). Their tables are defined here (`migrations`), but only the journal and the history
//! use them. `examine` finds the problems of a database, for a person who sets it up.
//!
//! The client runs on a separate thread. A caller waits for it, at most about [`database::BOUND`] for a
//! statement. No password appears in an error, a log or a `Debug` output.

pub(crate) mod database;
pub(crate) mod error;
mod examine;
pub(crate) mod migrations;
pub(crate) mod session;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;
mod tls;
pub(crate) mod url;
