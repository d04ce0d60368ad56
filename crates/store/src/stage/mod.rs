//! New content in the making, and what a file is besides its bytes.

pub(crate) mod metadata;
pub(crate) mod temporary;
