//! A file, read once: its bytes, its digest, its scan; and what is remembered of it between reads.

pub mod document;
pub mod hash;
pub mod scan_cache;
