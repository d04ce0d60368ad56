//! JSON as it arrives and as schemas describe it.

pub mod json_lexer;
pub mod json_weight;
pub mod schema;
