//! The number of files that this process may have open: [`limit`], [`raise_limit`].

use std::io;

/// Returns the limit of open files of this process, if the system has one.
#[cfg(unix)]
#[must_use]
pub fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Returns nothing: this platform has no such limit.
#[cfg(not(unix))]
#[must_use]
pub fn limit() -> Option<u64> {
    None
}

/// Raises the limit of open files of this process to the highest that it may set. An edit of many files holds
/// up to three handles for each, and most systems allow 1024 by default.
///
/// It must be called at the start. The default is low only for select(2), which takes only low descriptors
/// and is not used here.
#[cfg(unix)]
pub fn raise_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// The highest limit that macOS accepts, although it reports a higher one or none (`OPEN_MAX`,
    /// setrlimit(2) of macOS).
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

/// Does nothing: this platform has no such limit.
#[cfg(not(unix))]
pub fn raise_limit() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
}
