//! Past edits in an SQLite database in the state directory, which any number of processes of one machine share: [`Embedded`].

mod archive;
mod database;
mod forget;
mod lookup;
mod record;
mod row;

pub(super) use archive::Embedded;
