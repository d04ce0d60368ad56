//! The system's clock: [`now`].

use std::time::SystemTime;

/// Returns the time of the clock from which the times of files come.
#[expect(clippy::disallowed_methods, reason = "a file's times are compared with the clock they come from")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
