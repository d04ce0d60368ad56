//! The subcommand `doctor`: starts the server as a client would, and says what is wrong, with what mends it.
//!
//! `check` has all that can be wrong, `start` what is found by starting it; `session` speaks with a server
//! that runs, `neutral` is where what is not this program is started, `led` judges one that leads to a server
//! over HTTP, which `post` asks; `trust` looks for what a client must have been told, `entry` is what is
//! looked at; `run` does what was typed, and tells it. `database` has what can be wrong with the database of
//! several machines, and with what they call a directory.

mod check;
mod database;
mod entry;
mod led;
mod neutral;
mod post;
mod run;
mod session;
mod start;
mod trust;

pub use self::database::database;
pub use self::run::doctor;
