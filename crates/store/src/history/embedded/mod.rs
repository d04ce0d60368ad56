//! Keeps past edits in an SQLite database in the state directory: [`Embedded`]. Any number of processes of
//! one machine can share the database.

mod archive;
mod database;
mod lookup;
mod record;
#[cfg(test)]
mod tests;

pub(super) use archive::Embedded;
