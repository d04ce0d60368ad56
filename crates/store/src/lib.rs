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
#[cfg(test)]
mod tests;
pub mod workspace;

/// The pure half: scans, requests and their resolution, splices, digests, encodings.
pub use mcp_text_editor_core as core;

pub use access::client_files::{CLIENT_FILES, ClientFile, Known};
pub use access::landlock::{Confinement, Gap, Lack, Network};
pub use access::patterns::{BadPattern, Patterns};
pub use access::protection::Protection;
pub use access::roots::{CONTAINED, PathError};
pub use access::unserved::{Unserved, Wanted, WhyUnserved};
pub use cancellation::Cancellation;
pub use commit::overwrite::InPlace;
pub use door::{Change, Control, EditError, FileEdit, FileView, ReadError, ReadFile, WorkspaceBuilder};
pub use durability::Durability;
pub use edit::undo::{Conflict, IsLeft, Refused, UndoError, Undone};
pub use edit::{Differing, EditProblem, Edited, Outcome, Reason, Warning};
pub use error::{Operation, ReadFault, SpecialFile, StoreError, StoreErrorKind};
pub use history::{
    EditId, Entry, EntryFile, FILE_NAME as HISTORY_FILE, Forgotten, History, Kind, NotKept, Remedy,
    Settings as HistorySettings, Undo, path_in_history,
};
pub use os::fd_limit::raise_limit as raise_fd_limit;
pub use os::inode_flags::{Guard, Lost};
pub use os::signals::outlive_size_limit;
pub use read::document::{Document, NotText};
pub use state_dir::private::NotPrivate;
pub use workspace::Workspace;
