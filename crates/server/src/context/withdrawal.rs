//! Records that the client has cancelled a request, and whether the work has stopped for this reason:
//! [`Withdrawal`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The cancellation of a request by its client. The transport adds it to the request's extensions, and hides
/// the cancellation from the SDK, which would drop the answer even of an edit that was made.
#[derive(Clone, Default, Debug)]
pub struct Withdrawal(Arc<State>);

#[derive(Default, Debug)]
struct State {
    is_withdrawn: AtomicBool,
    is_acknowledged: AtomicBool,
}

impl Withdrawal {
    /// Records that the client has cancelled the request.
    pub fn withdraw(&self) {
        self.0.is_withdrawn.store(true, Ordering::Release);
    }

    /// Tells whether the client has cancelled the request.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.0.is_withdrawn.load(Ordering::Acquire)
    }

    /// Records that the work has stopped because of the cancellation, and has changed nothing. So no answer
    /// is needed.
    pub fn acknowledge(&self) {
        self.0.is_acknowledged.store(true, Ordering::Release);
    }

    /// Tells whether the work has stopped because of the cancellation.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.0.is_acknowledged.load(Ordering::Acquire)
    }
}
