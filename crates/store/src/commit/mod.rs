//! What a call changes, on disk: for all of its files or for none, whenever the process is killed.

pub mod exchange;
pub mod in_place;
pub mod overwrite;
pub mod publish_new;
pub(crate) mod remove;
pub mod staged;
pub(crate) mod transaction;
