//! The state directory: where what outlives a process is kept, for this user alone. What is in it is the journal's, the
//! history's, and new content of files whose own directory cannot be written.

mod dir;
pub(crate) mod private;

pub use dir::HISTORY;
pub(crate) use dir::{CONTENT, JOURNAL, StateDir};
