//! The search for the file that was meant by a path that leads to none. It is asked when a look has failed,
//! and only for the words of that error: nothing is read or edited by it.
//!
//! `notation` undoes how a path was written, `likeness` compares names, `listing` reads directories beneath a
//! root, `nearby` and `elsewhere` look there, and `search` puts these in order, and lets nothing through that
//! the caller could not reach by itself.

mod elsewhere;
mod likeness;
mod listing;
mod nearby;
mod notation;
pub(crate) mod search;
