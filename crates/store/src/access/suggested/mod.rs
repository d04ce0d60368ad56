//! Searches for the file that was meant by a path that leads to none. It runs after a look has failed, only
//! to improve the error. Its result is never read or edited in place of the path.

mod notation;
pub(crate) mod search;
