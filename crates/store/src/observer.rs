//! The observer of what happens beside the results of calls: [`Observer`].

use std::time::Duration;

/// The functions that are called when something happens that no result tells. [`Observer::default`] does
/// nothing.
///
/// It is called on the thread that works, so it must be quick.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// A call had to wait so long for locks, whether or not it got them.
    pub lock_waited: fn(Duration),
    /// An edit that was cut off, in this process or in another, has been ended or taken back.
    pub recovered: fn(),
    /// The database of several machines was waited for so long, whether or not it answered.
    pub database_waited: fn(Duration),
    /// The database of several machines did not do what it was asked for.
    pub database_failed: fn(),
    /// So many records of this process in that database have begun (1) or are over (-1).
    pub records_in_work: fn(i64),
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            lock_waited: |_| {},
            recovered: || {},
            database_waited: |_| {},
            database_failed: || {},
            records_in_work: |_| {},
        }
    }
}
