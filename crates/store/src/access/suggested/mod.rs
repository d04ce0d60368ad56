//! Searches for the file that a caller meant by a path that leads to no file. The search runs only after a
//! lookup has failed, to improve the error. A file that is found is never read or edited in place of the
//! path.
//!
//! `notation` converts a path to the usual notation, and `walk` scores the files beneath a root. `search`
//! calls both, and suggests only files that the caller could reach itself.

mod notation;
pub(crate) mod search;
mod walk;
