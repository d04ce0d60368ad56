//! Words: the only place where a reply is laid out.

pub mod edit;
pub mod explain;
pub mod failure;
pub mod past;
pub mod read;
