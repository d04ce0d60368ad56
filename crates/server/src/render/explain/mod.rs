//! Words the errors of the core and the store: each [`Problem`](crate::problem::Problem) says what was not
//! done, why, and the exact next call.

mod call;
mod edit;
mod exists;
mod file_system;
pub(crate) mod find;
mod left;
mod mismatch;
mod path;
mod rejection;
mod stopped;
mod store;
mod suggested;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use self::call::{Call, CalledFile};
pub(crate) use self::edit::{edit_problem, problem};
pub(crate) use self::path::{misspelled, path};
pub(crate) use self::stopped::{cancelled, out_of_time, too_many_hits};
pub(crate) use self::text::unknown_encoding;
