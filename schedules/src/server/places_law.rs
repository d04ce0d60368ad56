//! Connections: never more than there are places, one at work is never closed, and a new one is let in as soon as another is not at work,
//! though that by itself would stay for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use shuttle::future::block_on;
use shuttle::rand::Rng as _;

use super::pause;
use super::places::{Closed, Place, Places};

const PLACES: u32 = 2;
const CONNECTIONS: u32 = 5;

pub(crate) fn law() {
    let mut rng = shuttle::rand::thread_rng();
    let places = Places::new(PLACES);
    let open = Arc::new(AtomicU32::new(0));
    block_on(async {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let (place, closed) = places.take().await;
            assert!(open.fetch_add(1, Ordering::SeqCst) < PLACES);
            connections.push(tokio::spawn(connection(place, closed, rng.gen_range(0..3), Arc::clone(&open))));
        }
        places.close();
        places.are_free().await;
        for connection in connections {
            connection.await.unwrap();
        }
    });
}

/// A client that sends so many requests, and then keeps its connection.
async fn connection(place: Place, mut closed: Closed, requests: u32, open: Arc<AtomicU32>) {
    let place = Arc::new(place);
    for _ in 0..requests {
        let Some(work) = place.work() else { break };
        pause().await;
        // The end closes all, so this asks only whether a newer one did; it holds its place meanwhile.
        assert!(closed.try_recv().is_err());
        drop(work);
        pause().await;
    }
    let _ = (&mut closed).await;
    open.fetch_sub(1, Ordering::SeqCst);
    drop(place);
}
