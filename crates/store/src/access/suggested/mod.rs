//! Searches for the file that was meant by a path that leads to none. It runs after a look has failed, only
//! to improve the error. Its result is never read or edited in place of the path.
//!
//! `notation` undoes the notation of a path, `likeness` compares names, and `listing` reads directories
//! beneath a root. `nearby` and `elsewhere` search these directories. `search` calls them in order, and names
//! only files that the caller could reach itself.

mod elsewhere;
mod likeness;
mod listing;
mod nearby;
mod notation;
pub(crate) mod search;
