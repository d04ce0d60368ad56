//! Words: the only room where replies and problems are worded and laid out.

pub mod directories;
pub mod edit;
pub(crate) mod escape;
pub mod explain;
pub mod history;
pub mod layout;
pub(crate) mod limits;
pub(crate) mod paths;
pub mod read;
