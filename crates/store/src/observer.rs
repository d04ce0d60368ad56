//! Who is told what happens beside the results of calls: [`Observer`].

use std::time::Duration;

/// What is called when something happens that no result tells. [`Observer::default`] does nothing.
///
/// It is called on the thread that works, so it must be quick.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// A call had to wait so long for locks, whether or not it got them.
    pub lock_waited: fn(Duration),
    /// An edit that was cut off, in this process or in another, has been ended or taken back.
    pub recovered: fn(),
}

impl Default for Observer {
    fn default() -> Self {
        Self { lock_waited: |_| {}, recovered: || {} }
    }
}
