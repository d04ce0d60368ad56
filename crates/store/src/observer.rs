//! Defines an observer of events that the results of calls do not show: [`Observer`].

use std::time::Duration;

/// The functions that are called for events that no result shows. [`Observer::default`] does nothing.
///
/// They are called on the thread that does the work, so they must be quick.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// Called when a call has waited this long for locks, whether or not it got them.
    pub lock_waited: fn(Duration),
    /// Called when an interrupted edit, of this process or another, has been completed or rolled back.
    pub recovered: fn(),
    /// Called when a call has waited this long for the shared database, whether or not the database answered.
    pub database_waited: fn(Duration),
    /// Called when a request to the shared database failed.
    pub database_failed: fn(),
    /// Called with 1 when this process has created a journal record (the plan of an edit under way) in the
    /// shared database, and with -1 when that record has ended.
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
