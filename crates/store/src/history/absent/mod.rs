//! What stands for the database in a build without the feature `history`: nothing is kept, and nothing is found.

pub(super) mod database;
mod lookup;
