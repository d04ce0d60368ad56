//! A whole call that edits, makes, moves and removes files: all of it or nothing. It locks, reads, resolves,
//! writes beside, and has all of it put in place; if another program was faster, it starts again from the
//! read.

mod attempt;
mod call;
mod content;
mod create;
mod existing;
mod group;
mod move_file;
mod outcome;
mod problem;
mod remove_file;
mod request;
pub(crate) mod states;
mod task;
pub(crate) mod undo;

pub(crate) use call::edit;
pub use existing::Existing;
pub use outcome::{Became, Copied, Edited, Outcome, Warning};
pub use problem::{Differing, EditProblem, Reason};
pub(crate) use request::{Edit, EditChange, EditOptions};
