//! Transports: how messages come and go.

pub mod stdio;
