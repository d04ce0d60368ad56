//! Words the problems of calls that were stopped before they had finished.

use std::fmt;

use crate::limits::{Limit, Limits};
use crate::problem::{Code, Problem};
use crate::render::limits;

/// Makes the problem of a call that the client has cancelled.
pub(crate) fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "the call was cancelled", "send it again if it is still wanted")
}

/// Makes the problem of a replacement that would change more files, or more occurrences, than one call may.
pub(crate) fn too_many_hits(limits: &Limits, limit: Limit, what: impl fmt::Display) -> Problem {
    let problem = limits::too_large(limits, limit, what);
    let (_, by_person) = problem.hint.rsplit_once("; ").unwrap_or_default();
    let hint = format!("narrow `paths` or `glob`, one part after the other; {by_person}");
    Problem { hint, ..problem }
}

/// Makes the problem of a call that has exceeded its time limit.
pub(crate) fn out_of_time(limits: &Limits) -> Problem {
    limits::too_large(limits, Limit::Seconds, "the call was not done in time, and was stopped")
}
