//! Finds text in the files of the roots (the directories that the server serves), and lists these files. Both
//! work as in ripgrep, except that files are opened relative to directory handles, never by a whole path.

pub(crate) mod deliver;
pub(crate) mod file;
pub(crate) mod globs;
mod lines;
pub(crate) mod listing;
pub(crate) mod matcher;
pub(crate) mod pool;
mod problem;
mod request;
mod skipped;
pub(crate) mod start;
mod stop;
pub(crate) mod stoppable;
#[cfg(test)]
mod stoppable_tests;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod walk;
pub(crate) mod workers;

pub use globs::{BadGlobs, MAX_GLOB_BYTES, MAX_GLOBS};
pub use problem::{BadSearchPattern, SearchError, SearchProblem};
pub use request::{
    Cut, End, EntryKind, FileMatches, List, ListEntry, Match, Search, SearchSummary, TextLine,
};
pub use skipped::{Cause, Skipped, SkippedFiles};
