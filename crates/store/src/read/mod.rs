//! Reads a file once, for its bytes, its digest and its scan. Remembers scans between reads.

pub(crate) mod document;
pub(crate) mod hash;
pub(crate) mod scan_cache;
