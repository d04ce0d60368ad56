//! Carries out a whole call that edits, creates, moves and removes files, all of them or none. The call locks
//! the files, reads them, resolves the request, writes the new content to temporary files, and commits
//! everything. If another program was faster, the call starts again with the locking.

mod attempt;
mod call;
mod content;
mod create;
mod existing;
mod group;
pub(crate) mod in_roots;
mod move_file;
mod outcome;
mod problem;
mod remove_file;
mod request;
pub(crate) mod snapshot;
pub(crate) mod states;
mod task;
pub(crate) mod undo;
pub(crate) mod undo_plan;

pub(crate) use call::edit;
pub use existing::Existing;
pub use outcome::{Became, Copied, Edited, Outcome, Warning};
pub use problem::{Differing, EditProblem, Reason};
pub(crate) use request::{Edit, EditChange, EditOptions, Memory, Replace, Replaced};
