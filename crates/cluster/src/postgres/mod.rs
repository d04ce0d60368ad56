//! A `PostgreSQL` database that several machines share: its URL ([`StateUrl`]), and a session that is kept
//! open ([`Database`]). The journal and the history decide what is kept in it; only their tables are listed
//! here (`migrations`). `examine` finds out what is wrong with it, for a person who sets it up.
//!
//! The client runs on a thread of its own. A caller waits for it, about [`database::BOUND`] at most for a
//! statement. No password is in an error, a log or a `Debug`.

mod address;
pub(crate) mod database;
pub(crate) mod error;
mod examine;
pub(crate) mod migrations;
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
