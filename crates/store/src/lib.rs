//! Files: the only crate that touches the operating system.
//!
//! A path becomes a [`access::place::Place`] beneath an allowed directory ([`access`]), is opened, locked ([`lock`]) and read
//! ([`read`]) by handle, and its new content is written beside it ([`stage`]) and exchanged with it, or is new
//! ([`commit`]). What a call changes is decided by the core; in what order, by the transaction.

#[cfg(all(feature = "without-containment", not(debug_assertions)))]
compile_error!("`without-containment` is for tests: it takes the walls away, and must not be in a release");

pub mod access;
pub mod cancellation;
pub mod commit;
pub mod door;
pub mod durability;
pub mod edit;
pub mod error;
pub mod history;
mod journal;
pub mod lock;
pub mod os;
pub mod read;
pub mod recovery;
pub mod stage;
pub mod state_dir;
pub mod workspace;
