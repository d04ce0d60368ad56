//! The withdrawal of a request by its client, and whether its work stopped because of that: [`Withdrawal`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The withdrawal of a request by its client. The transport puts it among the request's extensions and does
/// not tell the SDK, which would drop the answer even of an edit that was made.
#[derive(Clone, Default, Debug)]
pub struct Withdrawal(Arc<Heard>);

#[derive(Default, Debug)]
struct Heard {
    is_withdrawn: AtomicBool,
    is_acknowledged: AtomicBool,
}

impl Withdrawal {
    /// Notes that the client has withdrawn the request.
    pub fn withdraw(&self) {
        self.0.is_withdrawn.store(true, Ordering::Release);
    }

    /// Tells whether the client has withdrawn the request.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.0.is_withdrawn.load(Ordering::Acquire)
    }

    /// Notes that the work has stopped because of it and has left nothing changed, so that nobody waits for
    /// the answer.
    pub fn acknowledge(&self) {
        self.0.is_acknowledged.store(true, Ordering::Release);
    }

    /// Tells whether the work has stopped because of it.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.0.is_acknowledged.load(Ordering::Acquire)
    }
}
