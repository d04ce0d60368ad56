//! Who makes a call, and whether it is still wanted: [`Control`].

use std::fmt;

use crate::cancellation::Cancellation;

/// Who makes a call, and whether it is still wanted. [`Control::default`] is anonymous and cannot be cancelled.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    pub(crate) origin: &'a str,
    pub(crate) cancellation: Cancellation<'a>,
}

impl<'a> Control<'a> {
    /// A call that the history lists as made by `origin`: a tool's or a program's name.
    #[must_use]
    pub fn of(origin: &'a str) -> Self {
        Self { origin, ..Self::default() }
    }

    /// The same call, which stops soon after `is_cancelled` answers `true`: asked often, between blocks of 64 KiB and before each
    /// pause, up to the moment before the first file is exchanged. What was cancelled has changed nothing.
    #[must_use]
    pub fn cancelled_by(self, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self { cancellation: Cancellation::when(is_cancelled), ..self }
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("origin", &self.origin).finish_non_exhaustive()
    }
}
