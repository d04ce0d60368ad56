//! Calls that were stopped before they were done.

use crate::limits::{Limit, Limits};
use crate::problem::{Code, Problem};
use crate::render::limits;

/// Makes the problem of a call that the client has withdrawn.
pub(crate) fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "the call was cancelled", "send it again if it is still wanted")
}

/// Makes the problem of a call whose time is over.
pub(crate) fn out_of_time(limits: &Limits) -> Problem {
    limits::too_large(limits, Limit::Seconds, "the call was not done in time, and was stopped")
}
