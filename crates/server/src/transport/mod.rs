//! The ways by which messages come and go.

pub mod stdio;
