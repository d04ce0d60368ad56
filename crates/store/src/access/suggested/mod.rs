//! Searches for the file that was meant by a path that leads to none. The search runs after a lookup has
//! failed, and only improves the error. The file that it finds is never read or edited instead.

mod notation;
pub(crate) mod search;
