//! Commits the changes of a call: for all of its files or for none, even if the process is killed.

pub(crate) mod exchange;
pub(crate) mod in_place;
pub(crate) mod names;
pub(crate) mod overwrite;
pub(crate) mod publish_new;
pub(crate) mod staged;
pub(crate) mod table;
mod take_back;
pub(crate) mod transaction;
pub(crate) mod world;
