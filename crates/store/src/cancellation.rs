//! Tells whether the caller has cancelled a call: [`Cancellation`]. A cancellation is never reported as an
//! error of the operating system.

use std::fmt;

use crate::error::ReadFault;

/// A function that tells whether the caller has cancelled the call. Long work calls this function between the
/// blocks of a file and between files. Once an edit has replaced its first file, the edit can no longer be
/// cancelled.
#[derive(Clone, Copy)]
pub struct Cancellation<'a>(&'a dyn Fn() -> bool);

impl<'a> Cancellation<'a> {
    /// Returns the value for a call that cannot be cancelled.
    #[must_use]
    pub const fn none() -> Self {
        Self(&|| false)
    }

    /// Returns the value for a call that is cancelled once `asked` returns `true`. `asked` is called
    /// often, and must be cheap.
    #[must_use]
    pub const fn when(asked: &'a dyn Fn() -> bool) -> Self {
        Self(asked)
    }

    /// Tells whether the call is to stop.
    #[must_use]
    pub fn is_cancelled(self) -> bool {
        (self.0)()
    }

    /// Fails with [`ReadFault::Cancelled`] once the call is to stop.
    pub(crate) fn check(self) -> Result<(), ReadFault> {
        if self.is_cancelled() { Err(ReadFault::Cancelled) } else { Ok(()) }
    }
}

impl Default for Cancellation<'_> {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for Cancellation<'_> {
    /// Writes only the type's name: formatting must not call the function.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cancellation")
    }
}
