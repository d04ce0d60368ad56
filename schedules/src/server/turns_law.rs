//! Turns: never more at a time than there are, a part is for those that neither search nor list, a call that
//! is given up keeps none, and nobody waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::future::block_on;
use shuttle::rand::Rng as _;
use tokio::sync::Semaphore;

use super::pause;
use super::turns::Turns;

const CALLS: usize = 3;
/// One of them is never given to what searches or lists.
const FINDING: usize = 2;

#[derive(Default)]
struct Working {
    all: AtomicUsize,
    finding: AtomicUsize,
}

pub(crate) fn law() {
    let turns = Arc::new(Turns::new(CALLS));
    let working = Arc::new(Working::default());
    let has_read = Arc::new(Semaphore::new(0));
    let mut rng = shuttle::rand::thread_rng();
    block_on(async {
        let mut calls = Vec::new();
        // As many searches as may work, and more, of which the first go on only once a read is done.
        for number in 0..FINDING + 2 {
            let (turns, working, has_read) =
                (Arc::clone(&turns), Arc::clone(&working), Arc::clone(&has_read));
            calls.push(tokio::spawn(async move {
                let turn = turns.next(true).await;
                assert!(working.finding.fetch_add(1, Ordering::SeqCst) < FINDING);
                assert!(working.all.fetch_add(1, Ordering::SeqCst) < CALLS);
                if number < FINDING {
                    has_read.acquire().await.unwrap().forget();
                }
                working.finding.fetch_sub(1, Ordering::SeqCst);
                working.all.fetch_sub(1, Ordering::SeqCst);
                drop(turn);
            }));
        }
        // Some that are given up, waiting or at work; the work itself goes on to its end.
        for is_finding in [true, false] {
            let (turns, working, patience) = (Arc::clone(&turns), Arc::clone(&working), rng.gen_range(0..4));
            let call = async move {
                let turn = turns.next(is_finding).await;
                let work = tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    assert!(working.all.fetch_add(1, Ordering::SeqCst) < CALLS);
                    shuttle::thread::yield_now();
                    working.all.fetch_sub(1, Ordering::SeqCst);
                });
                work.await.unwrap();
            };
            calls.push(tokio::spawn(async move {
                tokio::select! {
                    biased;
                    () = call => {}
                    () = async { for _ in 0..patience { pause().await } } => {}
                }
            }));
        }
        let reads: Vec<_> = (0..FINDING)
            .map(|_| {
                let (turns, working) = (Arc::clone(&turns), Arc::clone(&working));
                tokio::spawn(async move {
                    let _turn = turns.next(false).await;
                    assert!(working.all.fetch_add(1, Ordering::SeqCst) < CALLS);
                    pause().await;
                    working.all.fetch_sub(1, Ordering::SeqCst);
                })
            })
            .collect();
        for read in reads {
            read.await.unwrap();
            has_read.add_permits(1);
        }
        for call in calls {
            call.await.unwrap();
        }
        // All are there again.
        let mut held = Vec::new();
        for number in 0..CALLS {
            held.push(turns.next(number < FINDING).await);
        }
    });
}
