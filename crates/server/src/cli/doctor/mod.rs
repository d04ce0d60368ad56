//! The subcommand `doctor`: starts the server as a client would, and says what is wrong and how to fix it.
//!
//! `check` finds faults by reading an entry, `start` by starting its command; `session` speaks with the
//! running server. `remote` judges an entry of a server over HTTP, to which `post` connects. `report` defines
//! the entry and the findings; `run` carries the subcommand out and reports. `database` finds faults of the
//! database that several machines share, and of their common names for directories.

mod check;
#[cfg(feature = "cluster")]
pub(super) mod database;
mod post;
mod remote;
mod report;
mod run;
mod session;
mod start;

pub use self::run::doctor;
