//! Puts the changes of a call in place: for all of its files or for none, even if the process is killed at
//! any moment.

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
