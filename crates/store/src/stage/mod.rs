//! New content in the making, and what a file is besides its bytes.

pub mod metadata;
pub mod temporary;
