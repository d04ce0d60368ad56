//! Putting what a call changes in place: for all of its files or for none, whenever the process is killed.

mod aside;
pub(crate) mod displaced;
pub(crate) mod exchange;
pub(crate) mod in_place;
pub(crate) mod made;
pub(crate) mod names;
pub(crate) mod overwrite;
pub(crate) mod publish_new;
pub(crate) mod remove;
pub(crate) mod staged;
pub(crate) mod transaction;
