//! Connections: never more than there are places, one at work is never closed, and a new one is let in as
//! soon as another is not at work, even if that one would stay for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shuttle::future::block_on;
use shuttle::rand::Rng as _;
use tokio::sync::oneshot::error::TryRecvError;

use super::pause;
use super::places::{Closed, ConnectionPlace, Places};

const PLACES: u32 = 2;
const CONNECTIONS: u32 = 5;

pub(crate) fn law() {
    let mut rng = shuttle::rand::thread_rng();
    let places = Places::new(PLACES);
    let (open, is_end) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    block_on(async {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let (place, closed) = places.take().await;
            assert!(open.fetch_add(1, Ordering::SeqCst) < PLACES);
            let (open, is_end) = (Arc::clone(&open), Arc::clone(&is_end));
            connections.push(tokio::spawn(connection(place, closed, rng.gen_range(0..3), open, is_end)));
        }
        is_end.store(true, Ordering::SeqCst);
        places.close();
        places.until_free().await;
        for connection in connections {
            connection.await.unwrap();
        }
    });
}

/// Plays a client that sends so many requests, and then keeps its connection.
async fn connection(
    place: ConnectionPlace,
    mut closed: Closed,
    requests: u32,
    open: Arc<AtomicU32>,
    is_end: Arc<AtomicBool>,
) {
    let place = Arc::new(place);
    for _ in 0..requests {
        let Some(work) = place.work() else { break };
        pause().await;
        let is_open = matches!(closed.try_recv(), Err(TryRecvError::Empty));
        assert!(is_open || is_end.load(Ordering::SeqCst), "closed at work");
        drop(work);
        pause().await;
    }
    let _ = (&mut closed).await;
    open.fetch_sub(1, Ordering::SeqCst);
    drop(place);
}
