//! Handles SIGXFSZ: a write beyond the file size limit then fails instead of ending the process
//! ([`outlive_size_limit`]).
//!
//! The other signals need no handler. std ignores SIGPIPE. SIGTERM, SIGINT and SIGHUP end the process at
//! once, as SIGKILL does; the next process recovers the interrupted edit ([`crate::recovery::recover`]).

use std::io;

/// Makes a write fail with EFBIG if it goes beyond this process's limit for the size of files (`ulimit -f`).
/// By default, SIGXFSZ would end the process (setrlimit(2)). Must be called at the program's start.
///
/// The signal is handled instead of ignored, because child processes would inherit an ignored signal.
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
