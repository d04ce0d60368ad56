//! Words the errors of the core and the store: each [`Problem`](crate::problem::Problem) says what was not
//! done, why, and the exact next call.

mod call;
pub(crate) mod edit;
mod exists;
mod mismatch;
mod path;
mod rejection;
mod store;

#[cfg(test)]
mod tests;

pub(crate) use self::call::{Call, CalledFile};
pub(crate) use self::edit::unknown_encoding;
pub(crate) use self::edit::{edit_problem, problem};
pub(crate) use self::path::{misspelled, path};
pub(crate) use self::store::{cancelled, out_of_time, too_many_hits};
