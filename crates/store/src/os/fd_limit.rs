//! Reads and raises the number of files that this process is allowed to have open: [`limit`],
//! [`raise_limit`].

use std::io;

#[cfg(unix)]
use rustix::process::Rlimit;

/// Returns this process's limit of open files; `None` if there is no limit.
#[cfg(unix)]
#[must_use]
pub fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Returns `None`: this platform has no such limit.
#[cfg(not(unix))]
#[must_use]
pub fn limit() -> Option<u64> {
    None
}

/// Raises this process's limit of open files to the highest value that the system allows. An edit of many
/// files holds up to three handles per file, and the default limit of most systems is 1024.
///
/// Must be called at the program's start. The default limit is low only because select(2) accepts only low
/// descriptors; this program does not use select(2).
#[cfg(unix)]
pub fn raise_limit() -> io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    raise(getrlimit(Resource::Nofile), |to| setrlimit(Resource::Nofile, to))
}

/// The highest limit that macOS accepts, although it may report a higher maximum, or none (`OPEN_MAX`,
/// setrlimit(2) of macOS).
#[cfg(unix)]
const AT_LEAST: u64 = 10_240;

/// Raises a limit to the highest value that `set` accepts: the maximum that `limit` reports, or [`AT_LEAST`].
#[cfg(unix)]
fn raise(limit: Rlimit, set: impl Fn(Rlimit) -> rustix::io::Result<()>) -> io::Result<()> {
    let Some(current) = limit.current.filter(|current| limit.maximum != Some(*current)) else {
        return Ok(());
    };
    let set = |to| set(Rlimit { current: to, ..limit });
    match set(limit.maximum) {
        Err(_) if current < AT_LEAST => Ok(set(Some(AT_LEAST))?),
        done => Ok(done?),
    }
}

/// Does nothing: this platform has no such limit.
#[cfg(not(unix))]
pub fn raise_limit() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::cell::Cell;

    use rustix::process::{Resource, getrlimit, setrlimit};

    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_highest() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let lower = maximum.map(|most| most - 1);
        setrlimit(Resource::Nofile, Rlimit { current: lower, maximum }).unwrap();
        assert_eq!(limit(), lower);
        for _ in 0..2 {
            raise_limit().unwrap();
            assert_eq!(limit(), maximum);
        }
    }

    /// Behaves like macOS, which reports no maximum, but refuses an infinite limit.
    #[test]
    fn where_the_highest_limit_is_refused_it_is_raised_to_what_is_taken_and_never_lowered() {
        let raised = |current| {
            let taken = Cell::new(Some(current));
            let set = |to: Rlimit| match to.current {
                Some(..=AT_LEAST) => {
                    taken.set(to.current);
                    Ok(())
                }
                _ => Err(rustix::io::Errno::INVAL),
            };
            let done = raise(Rlimit { current: Some(current), maximum: None }, set);
            (done.is_ok(), taken.get())
        };
        assert_eq!(raised(256), (true, Some(AT_LEAST)));
        assert_eq!(raised(AT_LEAST), (false, Some(AT_LEAST)));
        assert_eq!(raised(AT_LEAST + 1), (false, Some(AT_LEAST + 1)));
    }
}
