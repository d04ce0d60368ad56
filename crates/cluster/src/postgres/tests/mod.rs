//! Promises about a database, held against real servers and pools.

mod examine;
mod refusals;
mod sessions;
