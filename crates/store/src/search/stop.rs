//! Defines the check whether a search must stop ([`Stop`]), and the maximum number of steps between two
//! checks ([`STEPS`]).

use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of steps between two checks whether to stop. In the worst case, a byte takes one step
/// for each state of the pattern. The slowest engine takes about 100 ms for this many steps.
pub(crate) const STEPS: usize = 16 << 20;

/// Decides whether a search must stop.
pub(crate) trait Stop: Sync {
    /// Tells whether the search must stop. At most `steps` steps follow before the next call.
    fn is_over(&self, steps: usize) -> bool;
}

impl Stop for AtomicBool {
    fn is_over(&self, _: usize) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// The reason why a matcher ends without a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Halted {
    /// The search was stopped: nothing more is wanted.
    #[error("nothing more is wanted")]
    Stopped,
    /// The matcher cannot decide whether a long line or text matches.
    #[error("a long line cannot be decided")]
    Undecided,
}
