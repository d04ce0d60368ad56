//! The common memory budget for bodies that are still arriving and for requests in work.
//!
//! Each request has one of a limited number of places, with some capacity outside the budget, so a small
//! request need not wait for large ones. As more of its body arrives, a request takes more capacity, each
//! time before it keeps the bytes. If the budget is used up, the request waits. Its client also waits,
//! because the client's bytes stay in the system's buffers. Requests that each hold a part of the budget
//! could wait for one another forever. So one request at a time may exceed the budget, until its work has
//! ended. While a request waits, bodies that arrive slowly are rejected.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The budget of a process, in KiB.
#[derive(Debug)]
pub(super) struct Intake {
    size: usize,
    /// Has a permit for each request that may still begin.
    places: Arc<Semaphore>,
    capacity: Arc<Semaphore>,
    /// Has the permit for the one request that may exceed the budget.
    beyond: Arc<Semaphore>,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Default, Debug)]
struct State {
    /// The number of shares.
    shares: usize,
    /// The number of shares that wait for capacity.
    waiting: usize,
    /// Whether new requests are rejected.
    ended: bool,
}

/// The error for requests that are rejected because the process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ended;

impl Intake {
    /// Creates a budget of `size` KiB for at most `requests` requests.
    pub(super) fn new(requests: u32, size: u32) -> Arc<Self> {
        let of = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        let (places, capacity, beyond) = (of(requests), of(size), of(1));
        Arc::new(Self {
            size: size as usize,
            places,
            capacity,
            beyond,
            state: watch::channel(State::default()).0,
        })
    }

    /// Creates the empty share of a request. Waits for a free place.
    pub(super) async fn share(self: &Arc<Self>) -> Result<Share, Ended> {
        // The semaphore is never closed, so acquiring cannot fail.
        tokio::select! {
            biased;
            ended = self.ended() => Err(ended),
            Ok(place) = Arc::clone(&self.places).acquire_owned() => {
                self.state.send_modify(|state| state.shares += 1);
                Ok(Share { intake: Arc::clone(self), _place: place, capacity: None, beyond: None })
            }
        }
    }

    /// Waits until a request waits for capacity.
    pub(super) async fn until_contended(&self) {
        self.until(|state| state.waiting > 0).await;
    }

    /// Rejects new requests from now on.
    pub(super) fn end(&self) {
        self.state.send_modify(|state| state.ended = true);
    }

    /// Waits until new requests are rejected.
    pub(super) async fn ended(&self) -> Ended {
        self.until(|state| state.ended).await;
        Ended
    }

    /// Waits until no request has a share: none is arriving, and none is in work.
    pub(super) async fn until_idle(&self) {
        self.until(|state| state.shares == 0).await;
    }

    async fn until(&self, holds: impl FnMut(&State) -> bool) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.state.subscribe().wait_for(holds).await;
    }
}

/// The part of the budget that a request holds from its arrival until its work has ended, even if its client
/// disconnects earlier.
#[derive(Debug)]
pub(super) struct Share {
    intake: Arc<Intake>,
    _place: OwnedSemaphorePermit,
    capacity: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Adds capacity for `kib` KiB. Waits until the budget has it, or until this request may exceed the
    /// budget.
    pub(super) async fn grow(&mut self, kib: u32) -> Result<(), Ended> {
        let intake = Arc::clone(&self.intake);
        if intake.state.borrow().ended {
            return Err(Ended);
        }
        if self.beyond.is_some() {
            return Ok(());
        }
        if let Ok(more) = Arc::clone(&intake.capacity).try_acquire_many_owned(kib) {
            self.hold(more);
            return Ok(());
        }
        let _waiting = Waiting::of(&intake);
        let held = self.capacity.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        // A request that needs more than the whole budget would wait for its own share to become free, and
        // block other requests.
        let can_fit = held + kib as usize <= intake.size;
        // The semaphores are never closed, so acquiring cannot fail.
        tokio::select! {
            biased;
            ended = intake.ended() => Err(ended),
            Ok(more) = Arc::clone(&intake.capacity).acquire_many_owned(kib), if can_fit => {
                self.hold(more);
                Ok(())
            }
            beyond = Arc::clone(&intake.beyond).acquire_owned() => {
                self.beyond = beyond.ok();
                Ok(())
            }
        }
    }

    fn hold(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.capacity {
            Some(capacity) => capacity.merge(more),
            None => self.capacity = Some(more),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.intake.state.send_modify(|state| state.shares -= 1);
    }
}

/// Counts a request as waiting for capacity, until this value is dropped.
struct Waiting<'a>(&'a Intake);

impl<'a> Waiting<'a> {
    fn of(intake: &'a Intake) -> Self {
        intake.state.send_modify(|state| state.waiting += 1);
        Self(intake)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.waiting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;
    use crate::transport::now;

    const SIZE: u32 = 10;
    const REQUESTS: u32 = 6;

    /// A request, which holds its share, or waits for it to grow.
    enum Request {
        Holds(Share),
        Waits(Pin<Box<dyn Future<Output = Share>>>),
    }

    fn growing(mut share: Share, kib: u32) -> Request {
        Request::Waits(Box::pin(async move {
            let _ = share.grow(kib).await;
            share
        }))
    }

    /// Polls all requests until none makes progress.
    fn settle(requests: &mut [Option<Request>]) {
        let mut has_moved = true;
        while std::mem::take(&mut has_moved) {
            for slot in requests.iter_mut() {
                if let Some(Request::Waits(future)) = slot
                    && let Poll::Ready(share) = future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
                {
                    *slot = Some(Request::Holds(share));
                    has_moved = true;
                }
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Arrives,
        Grows(usize, u32),
        /// The request is answered, or its connection is closed, maybe while the request waits.
        Ends(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => Just(Step::Arrives),
            6 => (0_usize..8, 1..2 * SIZE).prop_map(|(which, kib)| Step::Grows(which, kib)),
            3 => (0_usize..8).prop_map(Step::Ends),
        ]
    }

    proptest! {
        /// Checks the budget while requests arrive, grow and end in any order. The shares within the budget
        /// never exceed it, at most one request is beyond it, some request can always continue, and in the
        /// end the whole budget is free.
        #[test]
        fn the_budget_is_kept_and_nobody_waits_for_ever(steps in prop::collection::vec(step(), 0..60), end: bool) {
            let intake = Intake::new(REQUESTS, SIZE);
            let mut requests: Vec<Option<Request>> = Vec::new();
            for step in steps {
                match step {
                    Step::Arrives => {
                        let share = now(intake.share()).map(|share| Request::Holds(share.unwrap()));
                        prop_assert_eq!(share.is_none(), requests.iter().flatten().count() == REQUESTS as usize);
                        requests.push(share);
                    }
                    Step::Grows(which, kib) => {
                        if let Some(slot @ Some(Request::Holds(_))) = requests.get_mut(which)
                            && let Some(Request::Holds(share)) = slot.take()
                        {
                            *slot = Some(growing(share, kib));
                        }
                    }
                    Step::Ends(which) => {
                        if let Some(slot) = requests.get_mut(which) {
                            *slot = None;
                        }
                    }
                }
                settle(&mut requests);
                let holding: Vec<&Share> = requests
                    .iter()
                    .filter_map(|slot| match slot { Some(Request::Holds(share)) => Some(share), _ => None })
                    .collect();
                let held: usize = holding.iter().filter_map(|share| share.capacity.as_ref()).map(OwnedSemaphorePermit::num_permits).sum();
                prop_assert!(held <= SIZE as usize);
                let beyond = holding.iter().filter(|share| share.beyond.is_some()).count();
                let waiting = requests.iter().flatten().filter(|slot| matches!(slot, Request::Waits(_))).count();
                prop_assert!(beyond <= 1);
                prop_assert!(waiting == 0 || beyond == 1, "all wait for one another");
                let state = *intake.state.borrow();
                prop_assert_eq!((state.shares, state.waiting), (requests.iter().flatten().count(), waiting));
            }
            if end {
                intake.end();
                settle(&mut requests);
                prop_assert!(!requests.iter().flatten().any(|slot| matches!(slot, Request::Waits(_))));
            }
            drop(requests);
            let state = *intake.state.borrow();
            prop_assert_eq!((state.shares, state.waiting), (0, 0));
            let free = [&intake.places, &intake.capacity, &intake.beyond].map(|semaphore| semaphore.available_permits());
            prop_assert_eq!(free, [REQUESTS as usize, SIZE as usize, 1]);
        }
    }
}
