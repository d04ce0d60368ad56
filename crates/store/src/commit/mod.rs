//! What a call changes, on disk: for all of its files or for none, whenever the process is killed.

pub mod exchange;
pub mod overwrite;
pub mod publish_new;
pub(crate) mod remove;
pub(crate) mod transaction;
