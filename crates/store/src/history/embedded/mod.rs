//! Past edits in an SQLite database in the state directory, which any number of processes of one machine
//! share: [`Embedded`].

mod archive;
mod database;
mod filter;
mod forget;
mod lookup;
mod record;
mod row;
#[cfg(test)]
mod tests;

pub(super) use archive::Embedded;
