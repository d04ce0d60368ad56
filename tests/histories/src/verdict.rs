//! Judges a history, within bounds.

#![allow(clippy::missing_const_for_thread_local, reason = "for Windows clippy does not see that it is const")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as Actions};

use crate::history::{History, Recorded};
use crate::model::{Deed, Files, Operation};

/// The verdict on a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// There is an order of the calls in which each did what it says.
    Linearizable,
    /// There is none; `from` is the first answer with which there is none.
    Not { from: String },
    /// The search has taken as many steps as it may.
    Undecided,
}

impl Verdict {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Linearizable => "linearizable",
            Self::Not { .. } => "not linearizable",
            Self::Undecided => "undecided",
        }
    }
}

thread_local! {
    static STEPS_LEFT: Cell<u64> = const { Cell::new(0) };
}

/// The panic that ends a search which takes too long: the checker has no other way to be stopped.
struct OutOfSteps;

/// Counts a question of the checker to the model; to be called for each.
pub(crate) fn count_step() {
    let left = STEPS_LEFT.get();
    if left == 0 {
        resume_unwind(Box::new(OutOfSteps));
    }
    STEPS_LEFT.set(left - 1);
}

/// Judges a history, in at most so many steps.
pub(crate) fn judge(history: &History, steps: u64) -> Verdict {
    match is_linearizable(&history.operations, steps) {
        None => Verdict::Undecided,
        Some(true) => Verdict::Linearizable,
        Some(false) => Verdict::Not { from: first_wrong(&history.operations, steps) },
    }
}

/// Judges operations; `None` if it takes too long.
fn is_linearizable(operations: &[Recorded], steps: u64) -> Option<bool> {
    STEPS_LEFT.set(steps);
    let actions = actions(operations);
    // State that a stopped search leaves behind is not used again.
    let found = catch_unwind(AssertUnwindSafe(|| {
        WGLChecker::<Files>::is_linearizable(Actions::from_actions(actions))
    }));
    match found {
        Ok(found) => Some(found),
        Err(end) if end.is::<OutOfSteps>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Returns the beginnings and ends of operations in their order. At the same moment beginnings come first, so
/// that the two overlap. To the checker each operation is of a process of its own.
fn actions(operations: &[Recorded]) -> Vec<(usize, Action<Operation>)> {
    let mut moments = Vec::new();
    for (process, recorded) in operations.iter().enumerate() {
        let operation = || recorded.operation.clone();
        moments.push((recorded.called, 0, process, Action::Call(operation())));
        moments.push((recorded.answered, 1, process, Action::Response(operation())));
    }
    moments.sort_by_key(|(time, order, process, _)| (*time, *order, *process));
    moments.into_iter().map(|(.., process, action)| (process, action)).collect()
}

/// Returns the first answer up to which the history is no longer linearizable; what was not answered by then
/// may have been carried out or not.
fn first_wrong(operations: &[Recorded], steps: u64) -> String {
    let mut answers: Vec<&Recorded> = operations.iter().collect();
    answers.sort_by_key(|recorded| recorded.answered);
    let (mut good, mut bad) = (0, answers.len());
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        let Some(until) = answers.get(middle - 1).map(|last| last.answered) else { break };
        match is_linearizable(&up_to(operations, until), steps) {
            Some(false) => bad = middle,
            Some(true) => good = middle,
            None => return format!("not told: up to {until} the search takes too long"),
        }
    }
    answers.get(bad.saturating_sub(1)).map(|recorded| recorded.text.clone()).unwrap_or_default()
}

/// Returns what had happened up to a moment. All that is not answered yet, and changes files, is as if it
/// were never answered.
fn up_to(operations: &[Recorded], until: i64) -> Vec<Recorded> {
    let begun = operations.iter().filter(|recorded| recorded.called <= until);
    let known = begun.filter_map(|recorded| {
        if recorded.answered <= until {
            return Some(recorded.clone());
        }
        let entries = match &*recorded.operation.deed {
            Deed::Done { entries, is_dry: false, .. } | Deed::Unknown { entries } => entries.clone(),
            _ => return None,
        };
        let mut cut = recorded.clone();
        cut.operation.deed = Deed::Unknown { entries }.into();
        cut.answered = i64::MAX;
        Some(cut)
    });
    let mut known: Vec<Recorded> = known.collect();
    // Where nothing more is asked, what was not answered need not have happened.
    known.push(Recorded::pause(until));
    known
}
