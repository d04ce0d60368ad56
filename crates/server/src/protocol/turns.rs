//! Gives turns to calls. This limits how many calls work at the same time, and how many of these search or
//! list.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of a process. A quarter of them, rounded up, is never given to searches and lists, so reads and
/// edits need not wait until directory trees are walked. If there is only one turn, searches and lists can
/// have it, too.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    finding: Arc<Semaphore>,
}

/// The turn of a call. When this value is dropped, another call can have the turn.
#[derive(Debug)]
pub(super) struct Turn {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_finding: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// Makes the turns of a process in which at most `calls` calls work at the same time.
    pub(super) fn new(calls: usize) -> Self {
        let finding = (calls - calls.div_ceil(4)).max(1);
        Self { all: Arc::new(Semaphore::new(calls)), finding: Arc::new(Semaphore::new(finding)) }
    }

    /// Waits for a turn. A search or a list first waits for one of the turns that searches and lists may
    /// have. While it waits, it holds no other turn.
    pub(super) async fn next(&self, is_finding: bool) -> Turn {
        // Neither semaphore is ever closed, so acquiring cannot fail.
        let of_finding = if is_finding { Arc::clone(&self.finding).acquire_owned().await.ok() } else { None };
        Turn { _of_all: Arc::clone(&self.all).acquire_owned().await.ok(), _of_finding: of_finding }
    }
}
