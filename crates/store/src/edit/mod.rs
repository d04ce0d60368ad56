//! Carries out a whole call that edits, creates, moves and removes files, all of them or none. The call locks
//! the files, reads them, resolves the request, writes the new content to temporary files, and commits
//! everything. If another program was faster, the call starts again with the locking.

mod attempt;
mod call;
mod content;
mod create;
mod existing;
mod group;
mod move_file;
mod outcome;
mod remove_file;
pub(crate) mod request;
pub(crate) mod snapshot;
pub(crate) mod states;
pub(crate) mod undo;
pub(crate) mod undo_plan;

pub(crate) use call::edit;
pub use existing::Existing;
pub use outcome::{Became, Copied, Edited, Outcome, Warning};
pub use outcome::{Differing, EditProblem, Reason};
pub(crate) use request::{Edit, EditChange, EditOptions, Memory, Replace, Replaced};
