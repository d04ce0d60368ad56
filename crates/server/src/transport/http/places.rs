//! Limits the number of open connections, and chooses which connection to close for a new one.
//!
//! A client without the token can open connections, and be slow on each of them. So a new connection is
//! always accepted if another connection may be closed for it. Connections without an admitted request are
//! closed first, beginning with the oldest; then connections whose last request has been answered. A
//! connection with a request in progress is never closed.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// The places for the connections of a process.
#[derive(Debug)]
pub(super) struct Places {
    count: u32,
    free: Arc<Semaphore>,
    open: Mutex<Open>,
    /// Notified when a connection begins to rest, because it may then be closed.
    has_rested: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of events so far. The number of an event is its rank in time.
    events: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    state: ConnectionState,
    /// Dropped to close the connection.
    _open: oneshot::Sender<Infallible>,
}

/// The states of a connection, in the order in which connections are closed. The number is the event at which
/// the state began: of two connections in the same state, the one with the lower number is closed first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ConnectionState {
    /// No request has been admitted yet.
    Unknown(u64),
    /// The last request that was admitted has been answered.
    Resting(u64),
    /// A request is in progress.
    Working,
}

/// A future that resolves when the connection must be closed.
pub(super) type Closed = oneshot::Receiver<Infallible>;

impl Places {
    /// Creates `count` places.
    pub(super) fn new(count: u32) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(count as usize));
        Arc::new(Self { count, free, open: Mutex::default(), has_rested: Notify::new() })
    }

    /// Takes a place for a connection. If none is free, closes another connection; if all connections are
    /// working, waits.
    pub(super) async fn take(self: &Arc<Self>) -> (ConnectionPlace, Closed) {
        let mut is_closing = false;
        loop {
            if let Ok(free) = Arc::clone(&self.free).try_acquire_owned() {
                return self.open(free);
            }
            is_closing = is_closing || self.close_one();
            // The semaphore is never closed.
            tokio::select! {
                Ok(free) = Arc::clone(&self.free).acquire_owned() => return self.open(free),
                () = self.has_rested.notified(), if !is_closing => {}
            }
        }
    }

    /// Closes all connections.
    pub(super) fn close(&self) {
        self.lock().connections.clear();
    }

    /// Waits until no connection is open.
    pub(super) async fn until_free(&self) {
        // The semaphore is never closed, so acquiring cannot fail.
        let _ = self.free.acquire_many(self.count).await;
    }

    fn open(self: &Arc<Self>, free: OwnedSemaphorePermit) -> (ConnectionPlace, Closed) {
        let (sender, closed) = oneshot::channel();
        let mut open = self.lock();
        let id = open.tick();
        open.connections.insert(id, Connection { state: ConnectionState::Unknown(id), _open: sender });
        (ConnectionPlace { places: Arc::clone(self), id, _free: free }, closed)
    }

    /// Closes the connection with the lowest state. Returns false if no connection is open, or all are
    /// working.
    fn close_one(&self) -> bool {
        let mut open = self.lock();
        let first = open.connections.iter().min_by_key(|(_, connection)| connection.state);
        let id =
            first.filter(|(_, connection)| connection.state != ConnectionState::Working).map(|(&id, _)| id);
        id.is_some_and(|id| open.connections.remove(&id).is_some())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // A panic while this lock is held leaves no half-made change.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn tick(&mut self) -> u64 {
        self.events += 1;
        self.events
    }
}

/// The place of a connection, which becomes free when this value is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<Places>,
    id: u64,
    _free: OwnedSemaphorePermit,
}

impl ConnectionPlace {
    /// Records that a request of the connection was admitted. Returns `None` if the connection is closing.
    pub(super) fn work(self: &Arc<Self>) -> Option<ConnectionWork> {
        self.places.lock().connections.get_mut(&self.id)?.state = ConnectionState::Working;
        Some(ConnectionWork(Arc::clone(self)))
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.lock().connections.remove(&self.id);
    }
}

/// Marks a connection as working, until this value is dropped.
#[derive(Debug)]
pub(super) struct ConnectionWork(Arc<ConnectionPlace>);

impl Drop for ConnectionWork {
    fn drop(&mut self) {
        let ConnectionPlace { places, id, .. } = &*self.0;
        let mut open = places.lock();
        let now = open.tick();
        if let Some(connection) = open.connections.get_mut(id) {
            connection.state = ConnectionState::Resting(now);
        }
        places.has_rested.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::transport::now;

    fn is_closed(closed: &mut Closed) -> bool {
        now(closed).is_some()
    }

    #[test]
    fn the_unknown_give_way_first_and_the_working_never() {
        let places = Places::new(3);
        let take = || now(places.take()).map(|(place, closed)| (Arc::new(place), closed));
        let (known, mut known_closed) = take().unwrap();
        let (old, mut old_closed) = take().unwrap();
        let (new, mut new_closed) = take().unwrap();
        drop(known.work());
        // All places are taken. The oldest unknown connection is closed, and its place becomes free.
        assert!(take().is_none());
        assert_eq!(
            (is_closed(&mut known_closed), is_closed(&mut old_closed), is_closed(&mut new_closed)),
            (false, true, false)
        );
        assert!(old.work().is_none(), "it is being closed");
        drop(old);
        let (working, mut working_closed) = take().unwrap();
        let work = working.work();
        assert!(take().is_none());
        assert!(is_closed(&mut new_closed) && !is_closed(&mut known_closed));
        drop(new);
        let (last, mut last_closed) = take().unwrap();
        let last_work = last.work();
        assert!(take().is_none());
        assert!(is_closed(&mut known_closed), "no other is left");
        drop(known);
        let (third, mut third_closed) = take().unwrap();
        let third_work = third.work();
        // While all connections work, none is closed. The first that is done is closed for the connection
        // that waits.
        let mut waiting = pin!(places.take());
        assert!(now(waiting.as_mut()).is_none());
        assert_eq!(
            (is_closed(&mut working_closed), is_closed(&mut last_closed), is_closed(&mut third_closed)),
            (false, false, false)
        );
        drop(last_work);
        assert!(now(waiting.as_mut()).is_none());
        assert!(is_closed(&mut last_closed) && !is_closed(&mut working_closed));
        drop(last);
        assert!(now(waiting).is_some());
        drop((work, third_work));
        places.close();
        assert!(is_closed(&mut working_closed) && is_closed(&mut third_closed));
        assert!(now(places.until_free()).is_none());
        drop((working, third));
        assert!(now(places.until_free()).is_some());
    }
}
