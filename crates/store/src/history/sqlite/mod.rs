//! The history's database.

pub(super) mod database;
mod forget;
mod format;
mod lookup;
pub(super) mod record;
mod row;
