//! The question whether a search is to stop ([`Stop`]), and how often it is asked ([`STEPS`]).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of steps between two questions whether to stop: a byte is one for each state of the pattern, at
/// worst. The slowest engine takes some 100 ms for so many.
pub(crate) const STEPS: usize = 16 << 20;

/// The judge of whether a search is to stop.
pub(crate) trait Stop: Sync {
    /// Tells whether it is to stop; so many steps, at most, are taken before the next question.
    fn is_over(&self, steps: usize) -> bool;
}

impl Stop for AtomicBool {
    fn is_over(&self, _: usize) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Nothing more is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing more is wanted")
    }
}
