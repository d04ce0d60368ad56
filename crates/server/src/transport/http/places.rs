//! Limits the number of open connections, and chooses the one that gives way to a new one.
//!
//! A client without the token can open connections, and be slow on each of them. So a new connection is
//! always accepted if another one may be closed for it. Connections without any admitted request are closed
//! first, the oldest before the others; then those whose last request has been answered. A connection with a
//! request in work is never closed.

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
    /// Notified when a connection has become one that may be closed.
    rests: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of events so far; it orders them.
    now: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    standing: ConnectionState,
    /// Dropped to close the connection.
    _open: oneshot::Sender<Infallible>,
}

/// The states of a connection, in the order in which they give way. The number is the event since when it has
/// been in the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ConnectionState {
    /// None of its requests was admitted.
    Unknown(u64),
    /// A request was admitted, and has been answered.
    Resting(u64),
    /// A request is in work.
    Working,
}

/// Resolves when a connection is to be closed.
pub(super) type Closed = oneshot::Receiver<Infallible>;

impl Places {
    /// Makes `count` places.
    pub(super) fn new(count: u32) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(count as usize));
        Arc::new(Self { count, free, open: Mutex::default(), rests: Notify::new() })
    }

    /// Takes a place for a connection. If none is free, another connection is closed. While all are at work,
    /// this waits.
    pub(super) async fn take(self: &Arc<Self>) -> (ConnectionPlace, Closed) {
        let mut one_goes = false;
        loop {
            if let Ok(free) = Arc::clone(&self.free).try_acquire_owned() {
                return self.open(free);
            }
            one_goes = one_goes || self.close_one();
            // The semaphore is never closed.
            tokio::select! {
                Ok(free) = Arc::clone(&self.free).acquire_owned() => return self.open(free),
                () = self.rests.notified(), if !one_goes => {}
            }
        }
    }

    /// Closes all connections.
    pub(super) fn close(&self) {
        self.lock().connections.clear();
    }

    /// Waits until no connection is open.
    pub(super) async fn are_free(&self) {
        // The semaphore is never closed, so this only waits.
        let _ = self.free.acquire_many(self.count).await;
    }

    fn open(self: &Arc<Self>, free: OwnedSemaphorePermit) -> (ConnectionPlace, Closed) {
        let (sender, closed) = oneshot::channel();
        let mut open = self.lock();
        let id = open.tick();
        open.connections.insert(id, Connection { standing: ConnectionState::Unknown(id), _open: sender });
        (ConnectionPlace { places: Arc::clone(self), id, _free: free }, closed)
    }

    /// Closes the connection that gives way first. Returns false if there is none.
    fn close_one(&self) -> bool {
        let mut open = self.lock();
        let first = open.connections.iter().min_by_key(|(_, connection)| connection.standing);
        let id = first
            .filter(|(_, connection)| connection.standing != ConnectionState::Working)
            .map(|(&id, _)| id);
        id.is_some_and(|id| open.connections.remove(&id).is_some())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // Nothing is left half changed under this lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }
}

/// The place of a connection.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<Places>,
    id: u64,
    _free: OwnedSemaphorePermit,
}

impl ConnectionPlace {
    /// Notes that a request of the connection was admitted. Returns `None` if the connection is being closed.
    pub(super) fn work(self: &Arc<Self>) -> Option<ConnectionWork> {
        self.places.lock().connections.get_mut(&self.id)?.standing = ConnectionState::Working;
        Some(ConnectionWork(Arc::clone(self)))
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.lock().connections.remove(&self.id);
    }
}

/// The mark of a connection whose request is in work.
#[derive(Debug)]
pub(super) struct ConnectionWork(Arc<ConnectionPlace>);

impl Drop for ConnectionWork {
    fn drop(&mut self) {
        let ConnectionPlace { places, id, .. } = &*self.0;
        let mut open = places.lock();
        let now = open.tick();
        if let Some(connection) = open.connections.get_mut(id) {
            connection.standing = ConnectionState::Resting(now);
        }
        places.rests.notify_one();
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
        // All are taken. The oldest unknown one is to be closed; after that there is a place.
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
        // While all work, none gives way. One that is done gives way to the connection that waits.
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
        assert!(now(places.are_free()).is_none());
        drop((working, third));
        assert!(now(places.are_free()).is_some());
    }
}
