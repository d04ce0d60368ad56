//! Past edits, each with what undoes it: [`History`]. Nothing here carries an undo out.
//!
//! An archive keeps them: an SQLite database (`embedded`), which any number of processes of one machine
//! share, or a `PostgreSQL` database (`postgres`), which several machines share. An edit needs it only for
//! its undo, so no fault of the archive is an error of an edit. A database that cannot be read is neither
//! moved nor overwritten. A build without the feature `history` keeps none in a state directory.

mod archive;
#[cfg(any(feature = "history", feature = "postgres"))]
mod chain;
mod edit;
#[cfg(feature = "history")]
mod embedded;
mod entry;
mod filter;
#[cfg(any(feature = "history", feature = "postgres"))]
mod format;
mod keep;
mod known_root;
mod not_kept;
#[cfg(feature = "postgres")]
mod postgres;
mod settings;
#[cfg(test)]
#[cfg(feature = "history")]
mod tests;

pub use crate::state_dir::HISTORY as FILE_NAME;
pub(crate) use edit::{Caller, EditedFile, NewEdit};
pub use edit::{ChangeKind, EditId, Undo};
pub use entry::{Entry, EntryFile, Forgotten};
pub use filter::Filter;
pub use keep::{History, path_in_history};
pub use known_root::{KnownRoot, RootPlace};
pub use not_kept::{NotKept, Remedy};
pub use settings::Settings;
