//! The observer of events that the results of calls do not show: [`Observer`].

use std::time::Duration;

/// The functions that are called for events that no result shows. [`Observer::default`] does nothing.
///
/// They are called on the thread that works, so they must be quick.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// A call has waited this long for locks, whether or not it got them.
    pub lock_waited: fn(Duration),
    /// An edit that was cut off, in this process or in another, has been completed or undone.
    pub recovered: fn(),
    /// A call has waited this long for the database of several machines, whether or not it answered.
    pub database_waited: fn(Duration),
    /// A request to the database of several machines failed.
    pub database_failed: fn(),
    /// A record of this process in that database has begun (1) or ended (-1).
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
