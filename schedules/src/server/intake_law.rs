//! Requests that arrive: all but one of them together hold no more than the budget, nobody waits for ever,
//! those that are given up hold nothing, and the end reaches all that wait.

use std::sync::{Arc, Mutex};

use shuttle::future::block_on;
use shuttle::rand::Rng as _;
use tokio::sync::Semaphore;

use super::intake::Intake;
use super::pause;

const PLACES: u32 = 3;
const SIZE: u32 = 10;
const REQUESTS: usize = 4;

pub(crate) fn law() {
    let mut rng = shuttle::rand::thread_rng();
    let intake = Intake::new(PLACES, SIZE);
    let held = Arc::new(Mutex::new([0; REQUESTS]));
    let done = Arc::new(Semaphore::new(0));
    let ends = rng.gen_range(0..3) == 0;
    block_on(async {
        // A slow one has all of the budget, and goes when somebody wants it.
        let mut slow = intake.share().await.expect("not the end");
        slow.grow(SIZE).await.expect("not the end");
        let (pressed, others) = (Arc::clone(&intake), Arc::clone(&done));
        let slow = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = pressed.until_contended() => {}
                _ = others.acquire_many(REQUESTS as u32) => {}
            }
            drop(slow);
        });
        let mut requests = Vec::new();
        for number in 0..REQUESTS {
            let (intake, held, done) = (Arc::clone(&intake), Arc::clone(&held), Arc::clone(&done));
            let pieces: Vec<u32> = (0..rng.gen_range(0..3)).map(|_| rng.gen_range(1..=SIZE)).collect();
            let patience = if rng.gen_range(0..3) == 0 { rng.gen_range(0..6) } else { usize::MAX };
            let arriving = {
                let held = Arc::clone(&held);
                async move {
                    let Ok(mut share) = intake.share().await else { return };
                    let mut own = Held(number, held);
                    for piece in pieces {
                        if share.grow(piece).await.is_err() {
                            break;
                        }
                        own.grows(piece);
                        pause().await;
                    }
                    // What is counted here goes before what is held.
                    drop(own);
                    drop(share);
                }
            };
            requests.push(tokio::spawn(async move {
                tokio::select! {
                    biased;
                    () = arriving => {}
                    () = async { for _ in 0..patience.min(1_000) { pause().await } }, if patience < usize::MAX => {}
                }
                done.add_permits(1);
            }));
        }
        if ends {
            pause().await;
            intake.end();
        }
        for request in requests {
            request.await.unwrap();
        }
        slow.await.unwrap();
        intake.until_idle().await;
        tokio::select! {
            biased;
            () = intake.until_contended() => panic!("somebody waits who is gone"),
            () = pause() => {}
        }
        if ends {
            assert!(intake.share().await.is_err());
            return;
        }
        let mut all = intake.share().await.expect("not the end");
        tokio::select! {
            biased;
            grown = all.grow(SIZE) => assert!(grown.is_ok()),
            () = intake.until_contended() => panic!("a part of the budget is lost"),
        }
    });
}

/// The amount that a request holds, as this law counts it.
struct Held(usize, Arc<Mutex<[u32; REQUESTS]>>);

impl Held {
    fn grows(&mut self, piece: u32) {
        let mut held = self.1.lock().unwrap();
        held[self.0] += piece;
        let (sum, most) = (held.iter().sum::<u32>(), held.iter().max().unwrap());
        assert!(sum - most <= SIZE, "more than one is beyond the budget: {held:?}");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Ok(mut held) = self.1.lock() {
            held[self.0] = 0;
        }
    }
}
