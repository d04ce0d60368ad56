//! Manages the state directory, which keeps data that outlives a process, for this user alone: the journal,
//! the history, and new content of files whose own directory is not writable.

#[cfg(any(windows, test))]
mod access_list;
pub(crate) mod private;

pub use private::HISTORY;
pub(crate) use private::{CONTENT, JOURNAL, StateDir};
