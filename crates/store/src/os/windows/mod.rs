//! Windows, a file for each subject. The functions are documented where Unix has them.

mod base;
mod lock;

pub(crate) use base::*;
pub(crate) use lock::*;
