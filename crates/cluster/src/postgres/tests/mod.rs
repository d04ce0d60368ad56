//! Tests of the database client with real servers and pools.

mod examine;
mod refusals;
mod sessions;
