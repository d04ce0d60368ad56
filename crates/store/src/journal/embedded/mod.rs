//! The journal of one machine: a file for each record in the state directory, locked as long as its owner
//! lives.

mod directory;
mod found;
mod record;
