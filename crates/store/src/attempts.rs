//! Limits how often a call starts again because files change while it works on them: [`Attempts`].

use crate::cancellation::Cancellation;
use crate::error::{StoreError, StoreErrorKind};
use crate::os::patience::Patience;

/// The maximum number of attempts that a call makes at a file while other programs change the file.
pub(crate) const MAX_ATTEMPTS: usize = 5;

/// The attempts that a call has left.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    left: usize,
    patience: Patience,
    cancellation: Cancellation<'a>,
}

impl<'a> Attempts<'a> {
    /// Returns the attempts of a call whose first attempt has begun.
    pub(crate) fn new(cancellation: Cancellation<'a>) -> Self {
        Self { left: MAX_ATTEMPTS - 1, patience: Patience::default(), cancellation }
    }

    /// Tells whether the call is to start again after an error: the file has changed
    /// ([`StoreErrorKind::Changed`]) and an attempt is left, or another program [has a lease on the
    /// file](StoreError::is_leased). After any other error, and once the call is cancelled, returns `false`.
    ///
    /// If an error of the kind `Changed` has a source, usually another machine has replaced the file, and
    /// this machine resolves the name to the old file for a moment. This function then pauses, and does not
    /// count the attempt. It also pauses for a lease. All its pauses together take at most two seconds.
    pub(crate) fn again(&mut self, error: &StoreError) -> bool {
        if self.cancellation.is_cancelled() {
            return false;
        }
        match error.kind {
            StoreErrorKind::Changed => error.source.is_some() && self.patience.wait() || self.count(),
            _ => error.is_leased() && self.patience.wait(),
        }
    }

    /// Uses up one attempt. Returns whether one was left.
    pub(crate) fn count(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;
    use crate::error::Operation;

    #[test]
    fn what_another_machine_replaced_and_a_lease_are_waited_for_and_do_not_count() {
        let path = Path::new("f");
        let stale = StoreError::from_io(
            Operation::Read,
            path,
            io::Error::from(io::ErrorKind::StaleNetworkFileHandle),
        );
        let leased = StoreError::from_io(Operation::Open, path, io::ErrorKind::WouldBlock.into());
        let changed = StoreError::new(Operation::Read, path, StoreErrorKind::Changed);
        let missing = StoreError::new(Operation::Read, path, StoreErrorKind::NotFound);
        let mut attempts = Attempts::new(Cancellation::none());
        assert!(!attempts.again(&missing));
        for _ in 0..2 * MAX_ATTEMPTS {
            assert!(attempts.again(&stale));
        }
        for _ in 0..MAX_ATTEMPTS {
            assert!(attempts.again(&leased));
        }
        for _ in 1..MAX_ATTEMPTS {
            assert!(attempts.again(&changed));
        }
        assert!(!attempts.again(&changed));
        // The retries end, whatever the other machine does.
        while attempts.again(&stale) {}

        let mut attempts = Attempts::new(Cancellation::when(&|| true));
        assert!(!attempts.again(&stale) && !attempts.again(&changed), "it is withdrawn");
    }
}
