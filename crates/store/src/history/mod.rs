//! Keeps past edits, each with the data that its undo needs: [`History`]. This module does not carry out
//! undos.
//!
//! The edits are kept in an archive: either an SQLite database (`embedded`), which any number of processes of
//! one machine can share, or an archive that several machines share, which another crate implements. An edit
//! needs the archive only for its undo, so an edit never fails because of the archive. A database that cannot
//! be read is neither moved nor overwritten; only [`History::forget`] removes a damaged one. A build without
//! the feature `history` keeps no edits in a state directory.

mod archive;
mod edit;
#[cfg(feature = "history")]
mod embedded;
mod entry;
mod format;
mod keep;
mod settings;
#[cfg(test)]
#[cfg(feature = "history")]
mod tests;

pub use crate::state_dir::HISTORY as FILE_NAME;
pub use archive::{Archive, MoveSince};
pub use edit::{Caller, ChangeKind, EditId, EditedFile, NewEdit, Undo};
pub use entry::Chains;
pub use entry::Filter;
pub use entry::{Entry, EntryFile, Forgotten};
pub use entry::{KnownRoot, RootPlace};
pub use format::{decode, encode};
pub use keep::{History, path_in_history};
pub use settings::Settings;
pub use settings::{NotKept, Remedy};
