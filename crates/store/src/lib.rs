//! Edits files so that nothing is lost. A call makes all requested changes, or none. It changes no other
//! byte, and nothing outside the allowed directories, the roots. This is the only crate of mcp-text-editor
//! that touches the operating system.
//!
//! The interface is [`Workspace`]: open it once ([`Workspace::builder`]), share it among threads, and
//! [read](Workspace::read), [search](Workspace::search), [list](Workspace::list), [plan](Workspace::plan),
//! [apply](Workspace::apply), [undo](Workspace::undo) and [recover](Workspace::recover) through it. The
//! modules that implement it are private. The crate without input and output, [`core`], is re-exported.
//!
//! ```
//! use mcp_text_editor_store::core::resolve::Patch;
//! use mcp_text_editor_store::core::show::Budget;
//! use mcp_text_editor_store::{Change, Control, FileEdit, ReadFile, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let file = directory.path().join("poem.txt");
//! # std::fs::write(&file, "roses are red\r\nviolets are blue\r\n")?;
//! # let path = file.to_str().ok_or("not Unicode")?;
//! let workspace = Workspace::builder().root(directory.path()).build()?;
//!
//! let patches = [Patch::text("red", "yellow")];
//! let done = workspace.apply(&[FileEdit::new(path, Change::Patch(&patches))], Control::of("example"))?;
//! assert_eq!(done.files[0].total_lines, 2);
//!
//! // Line ends are shown as `\n`; in the file they stay as they were.
//! let view = workspace.read(ReadFile::new(path), None, Budget::bytes(10_000), Control::default())?;
//! assert_eq!(view.shown.content, "roses are yellow\nviolets are blue\n");
//! assert_eq!(std::fs::read(&file)?, b"roses are yellow\r\nviolets are blue\r\n");
//!
//! // A patch that does not fit changes nothing, and the error says why.
//! let refused = workspace.apply(&[FileEdit::new(path, Change::Patch(&patches))], Control::default());
//! assert!(refused.is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Limitations
//!
//! - Without a journal, in a state directory or shared with other machines, a crash between two files of a
//!   call leaves the first changed.
//! - If the file system cannot exchange names, or a file must be overwritten in place, a program that writes
//!   to the file at the same instant can lose what it wrote. [`Warning`] says when that was possible.
//!
//! # What may grow
//!
//! Results may get more fields (`#[non_exhaustive]`). The enums with the reasons for refusals, and with the
//! facts that a caller must know about an edit ([`Reason`], [`PathError`], [`StoreErrorKind`], [`NotKept`],
//! [`Warning`] …), are exhaustive on purpose: the compiler reports a new case to every program that matches
//! on them. So a new case needs a new major version.
//!
//! # Features
//!
//! `history` (default): past edits are kept and can be undone; this compiles SQLite in. `fast-hash`
//! (default): SHA-256 in assembly.

#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
compile_error!(
    "files are edited as Linux, macOS and Windows have them: on another system nobody has tried what this crate promises"
);

#[cfg(all(feature = "simulation", not(all(debug_assertions, target_os = "linux"))))]
compile_error!(
    "`simulation` is for tests under Linux: it has other systems' faults and takes walls away, and must not be in a release"
);

mod access;
mod attempts;
#[doc(hidden)]
pub mod backend;
mod cancellation;
mod commit;
mod door;
mod durability;
mod edit;
mod error;
mod history;
mod journal;
mod lock;
mod observer;
mod os;
mod read;
mod recovery;
mod search;
mod stage;
mod state_dir;
#[cfg(test)]
mod tests;
mod workspace;

/// The crate without input and output: scans, requests and their resolution, splices, digests, encodings.
pub use mcp_text_editor_core as core;

pub use access::client_files::{CLIENT_FILES, ClientFile, KnownFrom};
pub use access::landlock::{Confinement, Gap, Lack, Network};
pub use access::patterns::{BadPattern, Patterns};
pub use access::protection::Protection;
pub use access::roots::{PathError, has_containment};
pub use access::suggested::Purpose;
pub use access::unserved::{
    ConfiguredDirectory, FileOwner, Unserved, WhyUnserved, is_same_directory, only_when_named,
};
pub use access::windows_paths::{Unusable, UnusableName};
pub use cancellation::Cancellation;
pub use commit::in_place::InPlace;
pub use door::{
    Change, Control, EditError, FileEdit, FileView, ReadError, ReadFile, ReplaceError, Replacements,
    WorkspaceBuilder,
};
pub use durability::Durability;
pub use edit::states::{KnownStates, States};
pub use edit::undo::{Conflict, LaterEdit, UndoError, UndoProblems, Undone};
pub use edit::undo_plan::UndoPlan;
pub use edit::{Became, Copied, Differing, EditProblem, Edited, Existing, Outcome, Reason, Warning};
pub use error::{
    LeftBehind, NameFault, Operation, Privacy, ReadFault, Remains, SpecialFile, StoreError, StoreErrorKind,
    Suggestion,
};
pub use history::{
    ChangeKind, EditId, Entry, EntryFile, FILE_NAME as HISTORY_FILE, Filter as EditFilter, Forgotten,
    History, KnownRoot, NotKept, Remedy, RootPlace, Settings as HistorySettings, Undo, path_in_history,
};
pub use observer::Observer;
pub use os::fd_limit::{limit as fd_limit, raise_limit as raise_fd_limit};
pub use os::fetch_nothing;
pub use os::inode_flags::{Guard, Lost};
pub use os::package::package_of_this_process;
pub use os::parent::Parent;
pub use os::real_path::real_path;
pub use os::signals::outlive_size_limit;
pub use read::document::{Document, NotText};
pub use search::{
    BadGlobs, BadSearchPattern, Cause as SkipCause, Cut as LineCut, End as SearchEnd, EntryKind, FileMatches,
    List, ListEntry, MAX_GLOB_BYTES, MAX_GLOBS, Match, Search, SearchError, SearchProblem, SearchSummary,
    Skipped, SkippedFiles, TextLine,
};
pub use state_dir::private::{NotPrivate, UserId};
pub use workspace::Workspace;
