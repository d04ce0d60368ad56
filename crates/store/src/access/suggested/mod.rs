//! Searches for the file that was meant by a path that leads to none. It runs after a look has failed, only
//! to improve the error. Its result is never read or edited in place of the path.
//!
//! `notation` undoes the notation of a path, and `walk` scores the files beneath a root. `search` calls both,
//! and names only files that the caller could reach itself.

mod notation;
pub(crate) mod search;
mod walk;
