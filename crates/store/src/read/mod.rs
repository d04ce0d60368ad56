//! A file, read once: its bytes, its digest, its scan; and what is remembered of it between reads.

pub(crate) mod document;
pub(crate) mod hash;
pub(crate) mod scan_cache;
