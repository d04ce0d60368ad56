//! The subcommands `history` and `undo`: past edits for a person at a shell, or in a browser. Roots do not
//! restrict a person.
//!
//! `render/shell` words the edits, with colours; `output` removes the colours where they are not wanted. The
//! browser's page gets its edits from `crate::history`.

mod action;
pub(super) mod args;
mod error;
mod find;
mod moment;
mod output;
mod roots;
mod run;
mod show;
mod undo;
mod web;

pub use self::action::{HistoryAction, OutputForm, Selection, UndoMode};
pub(super) use self::action::{history_action, undo_action};
pub use self::error::HistoryError;
pub use self::find::{holds, is_kept_in};
pub use self::moment::Moment;
pub use self::output::Pager;
pub use self::run::run;
