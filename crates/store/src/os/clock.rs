//! Reads the system's clock: [`now`].

use std::time::SystemTime;

/// Returns the current time, by the clock from which files get their timestamps.
#[expect(clippy::disallowed_methods, reason = "a file's times are compared with the clock they come from")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
