//! How many files this process may have open: [`raise_limit`].

use std::io;

/// Lets this process open as many files as the system lets it allow itself: an edit of many files has up to three handles
/// for each, and 1024 is what most systems give unasked.
///
/// Due at start. Nothing in this program asks for low descriptors (select(2)), which is why so few are given.
#[cfg(unix)]
pub fn raise_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// What macOS takes although it names a higher bound, or none (`OPEN_MAX`, setrlimit(2) there).
    const AT_LEAST: u64 = 10_240;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| limit.maximum != Some(*current)) else {
        return Ok(());
    };
    let raise = |to| setrlimit(Resource::Nofile, Rlimit { current: to, ..limit });
    match raise(limit.maximum) {
        Err(_) if current < AT_LEAST => Ok(raise(Some(AT_LEAST))?),
        done => Ok(done?),
    }
}

/// There is no such limit.
#[cfg(not(unix))]
pub fn raise_limit() -> io::Result<()> {
    Ok(())
}
