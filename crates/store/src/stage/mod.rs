//! New content in temporary files, and the metadata that a file keeps.

pub(crate) mod metadata;
pub(crate) mod temporary;
