//! The system's clock: [`now`].

use std::time::SystemTime;

/// Returns the time of the clock that files' times come from.
#[expect(clippy::disallowed_methods, reason = "a file's times are compared with the clock they come from")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
