//! The public interface of this crate: everything that the server, or a program that embeds this crate, can
//! do with files. Each part of [`Workspace`](crate::Workspace)'s interface has a file here. The other modules
//! implement it.

mod builder;
mod edit;
mod facts;
mod history;
mod list;
mod read;
mod search;

pub use builder::WorkspaceBuilder;
pub use edit::Control;
pub use edit::{Change, EditError, FileEdit};

pub use search::{ReplaceError, Replacements};

pub use read::{FileView, ReadError, ReadFile};
