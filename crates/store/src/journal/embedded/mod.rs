//! Keeps the journal of one machine: each record is a file in the state directory. The process that owns the
//! record locks the file as long as it runs.

mod found;
mod record;
