//! The edits of the past, each as what turns it back: [`History`]. Carrying such an undo out is not done here.
//!
//! They are in an SQLite database, which any number of processes share. It is worth nothing to an edit but its undo, so
//! whatever is wrong with it is never an error of the edit, and what cannot be read is neither moved nor written over. A build
//! without the feature `history` keeps none.

#[cfg(not(feature = "history"))]
mod absent;
mod edit;
mod entry;
mod keep;
mod not_kept;
mod settings;
#[cfg(feature = "history")]
mod sqlite;
#[cfg(test)]
#[cfg(feature = "history")]
mod tests;

pub use crate::state_dir::HISTORY as FILE_NAME;
pub use edit::{EditId, Kind, Undo};
pub(crate) use edit::{FileEdit, NewEdit};
pub use entry::{Entry, EntryFile, Forgotten};
pub use keep::{History, path_in_history};
pub use not_kept::{NotKept, Remedy};
pub use settings::Settings;
