//! Transports: how messages come and go.

pub mod http;
mod message;
mod scan;
pub mod stdio;
