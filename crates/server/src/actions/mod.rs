//! From a typed request to the store and back: what a tool does once its arguments are checked.

pub mod edit;
pub mod history;
