//! Implements the operations for Windows, with a source file for each subject. The files of Unix and Linux
//! document the functions.

mod base;
pub(super) mod dir;
mod identity;
mod listing;
mod lock;
mod metadata;
mod names;
mod private;
mod replace;
mod tags;

pub(crate) use base::*;
pub(crate) use identity::*;
pub(crate) use listing::*;
pub(crate) use lock::*;
pub(crate) use metadata::*;
pub(crate) use names::*;
pub(crate) use private::*;
pub(crate) use replace::*;
pub(crate) use tags::as_programs_see;
