//! The question whether a search must stop ([`Stop`]), and how often it is asked ([`STEPS`]).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of steps between two questions whether to stop. At worst, a byte takes one step for each state
/// of the pattern. The slowest engine takes about 100 ms for this many steps.
pub(crate) const STEPS: usize = 16 << 20;

/// Decides whether a search must stop.
pub(crate) trait Stop: Sync {
    /// Tells whether the search must stop. At most `steps` steps follow before the next question.
    fn is_over(&self, steps: usize) -> bool;
}

impl Stop for AtomicBool {
    fn is_over(&self, _: usize) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// The error of a search that was stopped, since nothing more is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing more is wanted")
    }
}
