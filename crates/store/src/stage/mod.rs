//! Writes new content to temporary files, and copies the metadata that a file keeps.

pub(crate) mod metadata;
pub(crate) mod temporary;
