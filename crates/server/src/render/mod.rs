//! Words: the only place where a reply is laid out.

pub mod failure;
