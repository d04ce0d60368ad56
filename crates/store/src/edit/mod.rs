//! A whole call that edits files: all of it or nothing. It locks, reads, resolves, writes beside and exchanges the files; if another
//! program was faster, it starts again from the read.

mod attempt;
mod call;
pub(crate) mod create;
mod existing;
pub(crate) mod move_file;
mod outcome;
mod problem;
pub(crate) mod remove_file;
mod request;
pub(crate) mod undo;

pub(crate) use call::edit;
pub use existing::Existing;
pub use outcome::{Became, Edited, Outcome, Warning};
pub use problem::{Differing, EditProblem, Reason};
pub(crate) use request::{Change, Edit, Options};
