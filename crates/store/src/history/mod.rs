//! Past edits, each with what undoes it: [`History`]. Nothing here carries an undo out.
//!
//! An archive keeps them: an SQLite database (`embedded`), which any number of processes of one machine
//! share, or one that several machines share, in another crate. An edit needs it only for its undo, so no
//! fault of the archive is an error of an edit. A database that cannot be read is neither moved nor
//! overwritten. A build without the feature `history` keeps none in a state directory.

mod archive;
mod chain;
mod edit;
#[cfg(feature = "history")]
mod embedded;
mod entry;
mod filter;
mod format;
mod keep;
mod known_root;
mod not_kept;
mod settings;
#[cfg(test)]
#[cfg(feature = "history")]
mod tests;

pub use crate::state_dir::HISTORY as FILE_NAME;
pub use archive::{Archive, MoveSince};
pub use chain::Chains;
pub use edit::{Caller, ChangeKind, EditId, EditedFile, NewEdit, Undo};
pub use entry::{Entry, EntryFile, Forgotten};
pub use filter::Filter;
pub use format::{decode, encode};
pub use keep::{History, path_in_history};
pub use known_root::{KnownRoot, RootPlace};
pub use not_kept::{NotKept, Remedy};
pub use settings::Settings;
