//! What is promised of a database, held against real servers and pools.

mod examine;
mod sessions;
