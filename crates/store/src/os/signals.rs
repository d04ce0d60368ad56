//! The signal that ends a process where an error would do: [`outlive_size_limit`].
//!
//! SIGPIPE is std's to ignore. SIGTERM, SIGINT and SIGHUP end the process at once, as SIGKILL does: what was cut off is the
//! next process's to end ([`crate::recovery::recover`]).

use std::io;

/// Has a write beyond the largest file that this process may make (`ulimit -f`) fail with EFBIG, where SIGXFSZ would end the
/// process (setrlimit(2)). Due at start.
///
/// The signal is handled, not ignored: programs that were started from here would inherit the latter.
#[cfg(unix)]
pub fn outlive_size_limit() -> io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // Nobody asks whether it came: the write says so.
    let came = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), came).map(|_| ())
}

/// There is no such limit.
#[cfg(not(unix))]
pub fn outlive_size_limit() -> io::Result<()> {
    Ok(())
}
