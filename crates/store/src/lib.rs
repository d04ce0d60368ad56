//! Files: the only crate that touches the operating system.
//!
//! A path becomes a [`place::Place`] beneath an allowed directory ([`roots`]), is opened, locked ([`lock`]) and read
//! ([`read`]) by handle, and its new content is written beside it and exchanged with it ([`replace`]), or is new
//! ([`create`]). What a call changes is decided by the core; in what order, by the transaction.

#[cfg(all(feature = "without-containment", not(debug_assertions)))]
compile_error!("`without-containment` is for tests: it takes the walls away, and must not be in a release");

mod aliases;
pub mod clients;
pub mod closing;
pub mod confine;
pub mod create;
mod diff;
pub mod document;
pub mod edit;
pub mod error;
pub mod handles;
pub mod history;
pub mod identity;
pub mod in_place;
pub mod index;
pub mod inode_flags;
mod journal;
pub mod lock;
pub mod metadata;
mod names;
pub mod new_file;
pub mod patterns;
pub mod place;
mod platform;
pub mod policy;
pub mod private;
pub mod read;
mod recovery;
mod remove;
pub mod replace;
pub mod roots;
pub mod signals;
mod spelling;
pub mod state;
pub mod store;
pub mod temporary;
mod transaction;
#[cfg(feature = "without-containment")]
mod uncontained;
pub mod undo;
pub mod unserved;
mod vanishing;
