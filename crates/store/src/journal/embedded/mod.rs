//! Keeps the journal of one machine: each record is a file in the state directory, which is locked as long as
//! its owner runs.

mod found;
mod record;
