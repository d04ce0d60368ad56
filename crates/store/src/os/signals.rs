//! Handles SIGXFSZ, so that a write beyond the limit fails and does not end the process:
//! [`outlive_size_limit`].
//!
//! std ignores SIGPIPE. SIGTERM, SIGINT and SIGHUP end the process at once, as SIGKILL does; the next process
//! recovers the interrupted edit ([`crate::recovery::recover`]).

use std::io;

/// Makes a write fail with EFBIG if it goes beyond the largest file size of this process (`ulimit -f`). By
/// default, SIGXFSZ would end the process (setrlimit(2)). It must be called at the start.
///
/// The signal is handled instead of ignored, since programs started from this one would inherit that it is
/// ignored.
#[cfg(unix)]
pub fn outlive_size_limit() -> io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // Nobody reads the flag: the failed write reports the error.
    let received = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), received).map(|_| ())
}

/// Does nothing: this platform has no such limit.
#[cfg(not(unix))]
pub fn outlive_size_limit() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test looks at what the kernel says of this process")]
mod tests {
    use super::*;

    #[test]
    fn a_process_handles_the_signal_that_would_end_it() {
        let is_handled = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let handled = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            let bit = rustix::process::Signal::XFSZ.as_raw() - 1;
            u64::from_str_radix(handled.trim(), 16).unwrap() >> bit & 1 == 1
        };
        assert!(!is_handled());
        outlive_size_limit().unwrap();
        assert!(is_handled());
    }
}
