//! Recognises the errors of a volume that does not answer now but may answer again: [`is_away`].

use std::io::{self, ErrorKind};

/// Tells whether an error says that a volume, or the connection to it, does not answer. The cause is not a
/// wrong path or a missing permission, but for example a network file system or a FUSE process that is cut
/// off, a server that restarts, or a disk that fails.
pub(crate) fn is_away(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotConnected
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
    ) || is_away_by_number(error)
}

#[cfg(unix)]
fn is_away_by_number(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let numbers = [Errno::IO, Errno::HOSTDOWN, Errno::NXIO, Errno::NODEV, Errno::SHUTDOWN];
    Errno::from_io_error(error).is_some_and(|number| numbers.contains(&number))
}

#[cfg(windows)]
fn is_away_by_number(error: &io::Error) -> bool {
    use windows_sys::Win32::Foundation::{
        ERROR_BAD_NET_NAME, ERROR_BAD_NETPATH, ERROR_DEV_NOT_EXIST, ERROR_NETNAME_DELETED,
        ERROR_NETWORK_BUSY, ERROR_NO_NET_OR_BAD_PATH, ERROR_NOT_READY, ERROR_REM_NOT_LIST, ERROR_SEM_TIMEOUT,
        ERROR_UNEXP_NET_ERR,
    };
    let numbers = [
        ERROR_BAD_NET_NAME,
        ERROR_BAD_NETPATH,
        ERROR_DEV_NOT_EXIST,
        ERROR_NETNAME_DELETED,
        ERROR_NETWORK_BUSY,
        ERROR_NO_NET_OR_BAD_PATH,
        ERROR_NOT_READY,
        ERROR_REM_NOT_LIST,
        ERROR_SEM_TIMEOUT,
        ERROR_UNEXP_NET_ERR,
    ];
    crate::os::windows::is_one_of(error, &numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_does_not_answer_is_away_and_what_it_answers_is_not() {
        for kind in [
            ErrorKind::NotConnected,
            ErrorKind::StaleNetworkFileHandle,
            ErrorKind::TimedOut,
            ErrorKind::HostUnreachable,
            ErrorKind::NetworkUnreachable,
            ErrorKind::NetworkDown,
            ErrorKind::ConnectionRefused,
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionAborted,
        ] {
            assert!(is_away(&kind.into()), "{kind:?}");
        }
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::NotADirectory] {
            assert!(!is_away(&kind.into()), "{kind:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_or_a_way_that_fails_is_known_by_its_number() {
        use rustix::io::Errno;
        for number in [Errno::IO, Errno::HOSTDOWN, Errno::NXIO, Errno::NODEV, Errno::SHUTDOWN] {
            assert!(is_away(&number.into()), "{number}");
        }
        for number in [Errno::NOENT, Errno::ACCESS, Errno::LOOP, Errno::MFILE] {
            assert!(!is_away(&number.into()), "{number}");
        }
    }
}
